import { get as httpGet } from 'node:http'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { rateLimiter } from '../../../src/http/middleware/rate-limit.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { everything, vaultThatIs } from '../../support/everything.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { errorOf, problemOf } from '../../support/problem.ts'
import { serverOf } from '../../support/server.ts'
import { apply, midnight } from '../../support/world.ts'

const rateLimit = { requests: 3, seconds: 3_600 }
const query = '/graphql?query={strategies{id}}'

let database: TestDatabase

beforeAll(async () => {
  database = await emptyDatabase()
})

/** Returns the number of accepted requests before the first refusal. */
async function passing(gateway: TestGateway, init: (attempt: number) => RequestInit = () => ({})): Promise<number> {
  for (let attempt = 0; attempt <= 2 * rateLimit.requests; attempt++) {
    if ((await gateway.get('/universe', init(attempt))).status === 429) return attempt
  }
  return Infinity
}

function forwardedFor(addresses: string): RequestInit {
  return { headers: { 'x-forwarded-for': addresses } }
}

function bearing(key: string): RequestInit {
  return { headers: { authorization: `Bearer ${key}` } }
}

describe('with a rate limit', () => {
  test('every response has the policy and the remaining quota', async () => {
    const { get } = gatewayOn(database, { rateLimit })
    const left = []
    for (const path of ['/universe', '/nowhere', query, '/universe']) {
      const { headers } = await get(path)
      expect(headers.get('ratelimit-policy')).toBe('"default";q=3;w=3600')
      left.push(/^"default";r=(\d+);t=\d+$/.exec(headers.get('ratelimit') ?? '')?.[1])
    }
    expect(left).toEqual(['2', '1', '0', '0'])
  })

  test('except those that shared caches may store', async () => {
    const one = await emptyDatabase()
    await apply(one, everything)
    const { get } = gatewayOn(one, { rateLimit })
    const past = await get(`/vault/${vaultThatIs.earning}/snapshot?at=${String(midnight + 86_400)}`)
    expect([past.status, past.headers.get('cache-control')]).toEqual([200, expect.stringMatching(/^public/)])
    expect(past.headers.get('ratelimit')).toBeNull()
  })

  test('the first request over the limit is refused with Retry-After', async () => {
    const gateway = gatewayOn(database, { rateLimit })
    expect(await passing(gateway)).toBe(3)
    const response = await gateway.get('/universe')
    const seconds = Number(response.headers.get('retry-after'))
    expect(seconds).toSatisfy((value: number) => Number.isInteger(value) && value > 0 && value <= rateLimit.seconds)
    expect(response.headers.get('ratelimit')).toBe(`"default";r=0;t=${String(seconds)}`)
    expect(response.headers.get('ratelimit-policy')).toBe('"default";q=3;w=3600')
    const problem = await problemOf(response, 429)
    expect(problem).toMatchObject({ type: 'urn:vault-gateway:problem:rate-limited' })
    expect(problem.detail).toContain(`${String(seconds)} s`)
  })

  test('a query over the limit is refused with a GraphQL error', async () => {
    const gateway = gatewayOn(database, { rateLimit })
    expect(await passing(gateway)).toBe(3)
    for (const response of [await gateway.get(query), await gateway.post('{ strategies { id } }')]) {
      expect([response.status, response.headers.has('retry-after')]).toEqual([429, true])
      expect(response.headers.get('content-type')).toMatch(/^application\/graphql-response\+json/)
      expect(await errorOf(response)).toMatchObject({ extensions: { code: 'RATE_LIMITED' } })
    }
  })

  test('a request that is refused reads nothing', async () => {
    const gateway = gatewayOn(database, { rateLimit })
    await passing(gateway)
    database.takeStatements()
    await gateway.get('/universe')
    await gateway.post('{ strategies { id } }')
    expect(database.takeStatements()).toEqual([])
  })

  test('a preflight does not count', async () => {
    const gateway = gatewayOn(database, { rateLimit })
    for (let attempt = 0; attempt < 10; attempt++) await gateway.get('/universe', { method: 'OPTIONS' })
    expect(await passing(gateway)).toBe(3)
  })

  test('each gateway counts for itself', async () => {
    expect(await passing(gatewayOn(database, { rateLimit }))).toBe(3)
    expect(await passing(gatewayOn(database, { rateLimit }))).toBe(3)
  })
})

describe('a quota', () => {
  const apiKeys = ['a-key-of-one-reader', 'a-key-of-another-reader']

  test('belongs to the API key, whatever address uses it', async () => {
    const gateway = gatewayOn(database, { rateLimit, apiKeys, trustedProxies: 1 })
    const [one, other] = apiKeys as [string, string]
    const from = (attempt: number): RequestInit => ({
      headers: { authorization: `Bearer ${one}`, 'x-forwarded-for': `10.0.0.${String(attempt)}` },
    })
    expect(await passing(gateway, from)).toBe(3)
    expect(await passing(gateway, () => bearing(other))).toBe(3)
  })

  test('is not spent by requests without an accepted key, which count for their address', async () => {
    const gateway = gatewayOn(database, { rateLimit, apiKeys })
    const statuses = []
    for (const key of ['one', 'two', 'three', 'four']) {
      statuses.push((await gateway.get('/universe', bearing(`a-guessed-key-${key}`))).status)
    }
    expect([...statuses, (await gateway.get('/universe')).status]).toEqual([401, 401, 401, 429, 429])
    expect(await passing(gateway, () => bearing('a-key-of-one-reader'))).toBe(3)
  })

  test('is not extended by keys where none are configured', async () => {
    const gateway = gatewayOn(database, { rateLimit })
    expect(await passing(gateway, (attempt) => bearing(`an-invented-key-${String(attempt)}`))).toBe(3)
  })

  test('belongs to the address that the trusted proxy forwards', async () => {
    const gateway = gatewayOn(database, { rateLimit, trustedProxies: 1 })
    expect(await passing(gateway, () => forwardedFor('10.0.0.1'))).toBe(3)
    expect(await passing(gateway, () => forwardedFor('10.0.0.2'))).toBe(3)
    expect((await gateway.get('/universe', forwardedFor('10.0.0.1'))).status).toBe(429)
  })

  test.each([
    [0, (attempt: number) => `10.0.0.${String(attempt)}`],
    [0, (attempt: number) => `10.0.0.${String(attempt)}, 10.1.1.1`],
    [1, (attempt: number) => `10.0.0.${String(attempt)}, 10.1.1.1`],
    [1, (attempt: number) => `10.0.0.${String(attempt)},10.0.1.${String(attempt)},10.1.1.1`],
    [2, (attempt: number) => `10.0.0.${String(attempt)}, 10.1.1.1, 10.2.2.2`],
    [2, (attempt: number) => `10.1.1.1, 10.2.2.${String(attempt)}`],
  ])('is not bought by addresses invented before those of %i trusted proxies', async (trustedProxies, addresses) => {
    const gateway = gatewayOn(database, { rateLimit, trustedProxies })
    expect(await passing(gateway, (attempt) => forwardedFor(addresses(attempt)))).toBe(3)
  })

  test.each([
    [(attempt: number) => `10.0.0.1:${String(1_000 + attempt)}`],
    [(attempt: number) => `[2001:DB8::${String(attempt)}]:80`],
    [(attempt: number) => `::ffff:10.0.0.1%${String(attempt)}`],
    [(attempt: number) => `nobody-${String(attempt)}`],
  ])('is not bought by other spellings and ports', async (address) => {
    const gateway = gatewayOn(database, { rateLimit, trustedProxies: 1 })
    expect(await passing(gateway, (attempt) => forwardedFor(address(attempt)))).toBe(3)
  })

  test('of a request that bypassed the proxies belongs to its own address', async () => {
    const gateway = gatewayOn(database, { rateLimit, trustedProxies: 2 })
    expect(await passing(gateway, (attempt) => forwardedFor(`10.0.0.${String(attempt)}`))).toBe(3)
  })

  test('belongs to the remote address of the socket if no proxy is configured', async () => {
    const server = await serverOf(gatewayOn(database, { rateLimit }).app)
    const statusFrom = (localAddress: string, attempt: number): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const headers = { 'x-forwarded-for': `10.0.0.${String(attempt)}` }
        const request = httpGet({ host: '127.0.0.1', port: server.port, path: '/universe', localAddress, headers })
        request.on('error', reject)
        request.on('response', (response) => {
          response.resume()
          resolve(response.statusCode)
        })
      })
    const statuses = []
    for (let attempt = 0; attempt < 4; attempt++) statuses.push(await statusFrom('127.0.0.1', attempt))
    statuses.push(await statusFrom('127.0.0.2', 4))
    await server.close()
    expect(statuses).toEqual([200, 200, 200, 429, 200])
  })
})

test('if the primary process that counts for all workers does not answer, a worker counts by itself', async () => {
  // The process of this test has a parent that does not count requests.
  const count = rateLimiter({ requests: 2, seconds: 3_600, isAcrossWorkers: true })
  const verdicts = await Promise.all(Array.from({ length: 3 }, () => count('10.0.0.1')))
  expect(verdicts.map(({ refusal }) => refusal?.status)).toEqual([undefined, undefined, 429])
  expect((await count('10.0.0.2')).refusal).toBeUndefined()
})

test('beyond the limit of counted senders, the count of the least recently used one is reset', async () => {
  const count = rateLimiter({ requests: 1, seconds: 3_600 }, 3)
  const refused = async (sender: string): Promise<boolean> => (await count(sender)).refusal !== undefined
  for (const sender of ['one', 'two', 'three']) expect([sender, await refused(sender)]).toEqual([sender, false])
  expect(await refused('one')).toBe(true)
  expect(await refused('four')).toBe(false)
  expect([await refused('one'), await refused('three'), await refused('four')]).toEqual([true, true, true])
  expect(await refused('two')).toBe(false)
})

test('after the system clock was set back, the reset time does not exceed the window', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: midnight * 1000 })
  try {
    const count = rateLimiter({ requests: 1, seconds: 60 })
    await count('one')
    vi.setSystemTime((midnight - 86_400) * 1000)
    const { headers, refusal } = await count('one')
    expect(headers).toMatchObject({ ratelimit: '"default";r=0;t=60', 'retry-after': '60' })
    expect(JSON.stringify(refusal)).toContain('the next is answered in 60 s')
  } finally {
    vi.useRealTimers()
  }
})

test('without a rate limit, there are no rate limit headers and no refusals', async () => {
  const gateway = gatewayOn(database)
  expect(await passing(gateway)).toBe(Infinity)
  const { headers } = await gateway.get('/universe')
  expect([headers.get('ratelimit'), headers.get('ratelimit-policy'), headers.get('retry-after')]).toEqual([
    null,
    null,
    null,
  ])
})
