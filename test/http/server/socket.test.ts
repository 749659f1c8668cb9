import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emptyDatabase } from '../../support/database.ts'
import { everything, vaultThatIs } from '../../support/everything.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { serverOf, type TestServer } from '../../support/server.ts'
import { apply, vaultA } from '../../support/world.ts'

let gateway: TestGateway
let server: TestServer

beforeAll(async () => {
  const database = await emptyDatabase()
  await apply(database, everything)
  gateway = gatewayOn(database)
  server = await serverOf(gateway.app)
})

afterAll(() => server.close())

/** Headers of a connection, or of one request only. */
const ofConnection = new Set([
  'connection',
  'keep-alive',
  'date',
  'transfer-encoding',
  'content-length',
  'x-request-id',
])

async function partsOf(response: Response): Promise<unknown> {
  const headers = [...response.headers].filter(([name]) => !ofConnection.has(name))
  const lowerCased = headers.map(([name, value]) => [name.toLowerCase(), value] as const)
  return { status: response.status, headers: Object.fromEntries(lowerCased), body: await response.text() }
}

describe('over a socket', () => {
  test.each([
    ['GET', `/vault/${vaultThatIs.earning}/events?limit=1&type=deposit`],
    ['GET', `/vault/${vaultThatIs.earning}/equity?points=1`],
    ['GET', `/vault/${vaultA}/snapshot`],
    ['GET', '/vault/%zz/snapshot'],
    ['GET', '/nowhere?'],
    ['HEAD', '/strategies'],
    ['HEAD', '/nowhere'],
    ['POST', '/strategies'],
    ['OPTIONS', '/strategies'],
    ['OPTIONS', '/graphql'],
    ['GET', '/graphql?query={strategies{id,liveApr}}'],
    ['GET', '/graphql?query={nothing}'],
    ['PUT', '/graphql'],
  ])('%s %s is answered as by fetch', async (method, path) => {
    expect(await partsOf(await fetch(server.origin + path, { method }))).toEqual(
      await partsOf(await gateway.get(path, { method })),
    )
  })

  test('a response has the length of its body, also for HEAD', async () => {
    const whole = await fetch(`${server.origin}/universe`)
    const bytes = Buffer.byteLength(await whole.text())
    expect(whole.headers.get('content-length')).toBe(String(bytes))
    const head = await fetch(`${server.origin}/universe`, { method: 'HEAD' })
    expect(head.headers.get('content-length')).toBe(String(bytes))
  })

  test('If-None-Match gives 304', async () => {
    const etag = (await fetch(`${server.origin}/universe`)).headers.get('etag') ?? ''
    const headers = { 'if-none-match': etag, 'cache-control': 'no-cache' }
    const response = await fetch(`${server.origin}/universe`, { headers })
    expect([response.status, await response.text()]).toEqual([304, ''])
  })
})
