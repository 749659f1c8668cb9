import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { admissionLimits, defaultHttpLimits } from '../../../src/limits.ts'
import { bodyChunkBytes } from '../../../src/limits/connections.ts'
import { emptyDatabase, readingBy, type TestDatabase } from '../../support/database.ts'
import { deferred } from '../../support/deferred.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { errorOf, hanging, problemOf } from '../../support/problem.ts'
import { rawConnection } from '../../support/raw.ts'
import { serverOf, type TestServer } from '../../support/server.ts'

/** Limit of one sender, which is half of the total. */
const responsesInProduction = 3
const bodiesBytes = 10_000

let database: TestDatabase
let gateway: TestGateway
let server: TestServer

beforeAll(async () => {
  database = await emptyDatabase()
  const limits = {
    ...defaultHttpLimits,
    responsesInProduction: 2 * responsesInProduction,
    bodiesBytes: 2 * bodiesBytes,
  }
  gateway = gatewayOn(hanging(database), { limits, trustedProxies: 1 })
  server = await serverOf(gateway.app)
})
afterAll(() => server.close())

describe('at the limit of responses in production', () => {
  test('other requests are refused with Retry-After, except probes and refusals, and cancelled productions do not count', async () => {
    const leaving = new AbortController()
    const held = Array.from({ length: responsesInProduction }, (_, index) =>
      gateway.get(`/vault/0x${String(index).padStart(40, '0')}/snapshot`, { signal: leaving.signal }),
    )
    await expect.poll(async () => (await gateway.get('/universe')).status).toBe(503)
    const refused = await gateway.get('/universe')
    expect(refused.headers.get('retry-after')).toBe('2')
    expect(await problemOf(refused, 503)).toMatchObject({ type: 'urn:vault-gateway:problem:overloaded' })
    const query = await gateway.post('{ strategies { id } }')
    expect([query.status, query.headers.get('retry-after')]).toEqual([503, '2'])
    expect((await errorOf(query)).extensions).toEqual({ code: 'OVERLOADED' })
    expect((await gateway.get('/health')).status).toBe(200)
    expect((await gateway.get('/nowhere')).status).toBe(503)
    // The other half is for another sender.
    expect((await gateway.get('/nowhere', { headers: { 'x-forwarded-for': '192.0.2.1' } })).status).toBe(404)
    leaving.abort()
    await Promise.allSettled(held)
    expect((await gateway.get('/nowhere')).status).toBe(404)
    expect(gateway.reported).toEqual([])
  })
})

test('expensive queries of one IPv6 network share one turn in the queue', async () => {
  const query = '{ vaults(first: 200) { nodes { events(first: 100) { nodes { ts } } } } }'
  const path = `/graphql?query=${encodeURIComponent(query)}`
  let gate = Promise.resolve()
  const heldDatabase = readingBy(database, async (statement, values, signal, reader) => {
    await gate
    return reader.read(statement, values, signal)
  })
  const { get } = gatewayOn(heldDatabase, { trustedProxies: 1 })
  const order: string[] = []
  const ask = async (address: string): Promise<number> => {
    const response = await get(path, { headers: { 'x-forwarded-for': address } })
    order.push(address)
    const { extensions } = (await response.json()) as { readonly extensions: { cost: { figure: number } } }
    return extensions.cost.figure
  }
  // Two do not run concurrently.
  expect(await ask('192.0.2.1')).toBeGreaterThan(admissionLimits.maxExpensive / 2)
  const { promise, resolve } = deferred()
  gate = promise
  const network = Array.from({ length: 8 }, (_, at) => `2001:db8:1:${at}::1`)
  const responses = [...network, '192.0.2.1'].map(ask)
  for (let turns = 0; turns < 50; turns++) await new Promise((next) => setImmediate(next))
  resolve()
  await Promise.all(responses)
  // At most the running query, and the next one of its network, whose turn was earlier.
  expect(order.slice(1).indexOf('192.0.2.1')).toBeLessThanOrEqual(2)
})

describe('at the limit of bytes of request bodies', () => {
  const post = (length: number): string =>
    `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`

  test('a query is refused, and answered when they have been released', async () => {
    const body = JSON.stringify({ query: `{ __typename } #${'x'.repeat(600)}` })
    const holder = await rawConnection(server.port)
    // Each chunk counts some hundred bytes more than its length.
    holder.send(post(bodiesBytes) + 'x'.repeat(bodiesBytes - 500))
    await expect.poll(() => server.running()).toBe(1)
    const refused = await rawConnection(server.port)
    refused.send(post(body.length) + body)
    await refused.receives(/^HTTP\/1\.1 503 .*OVERLOADED/s)
    holder.socket.destroy()
    await expect.poll(() => server.running()).toBe(0)
    refused.send(post(body.length) + body)
    await refused.receives(/HTTP\/1\.1 200 .*"__typename":"Query"/s)
    refused.socket.destroy()
  })

  test('dozens of senders, each at its limit, leave a rest for another one', async () => {
    const large = gatewayOn(database, { trustedProxies: 1 })
    const sizes = [defaultHttpLimits.bodyBytes, 8_192, 1_024, 12]
    for (let sender = 1; sender <= 44; sender++)
      for (const size of sizes) await holdBodies(large, `192.0.2.${sender}`, size)
    expect((await large.post('{ __typename }')).status).toBe(200)
  })

  test('chunks of one byte count with the memory that each takes', async () => {
    const holder = await rawConnection(server.port)
    const chunked =
      'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
    holder.send(chunked + '1\r\nx\r\n'.repeat(Math.ceil(bodiesBytes / bodyChunkBytes)))
    await holder.receives(/^HTTP\/1\.1 503 .*OVERLOADED/s)
    holder.socket.destroy()
  })
})

/** Sends bodies without their last bytes until one is refused. */
async function holdBodies({ app }: TestGateway, sender: string, size: number): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': sender }
  for (;;) {
    const body = new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array(size - 10)) })
    const init = { method: 'POST', headers, body, duplex: 'half' }
    const answered = app.fetch(new Request('http://gateway.test/graphql', init)).then(() => 'refused')
    if ((await Promise.race([answered, aFewTurns()])) === 'refused') return
  }
}

async function aFewTurns(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((next) => setImmediate(next))
}
