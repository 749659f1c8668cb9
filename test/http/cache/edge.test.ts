import { beforeAll, describe, expect, test } from 'vitest'
import type { AppOptions } from '../../../src/http/app.ts'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { createResponseCache } from '../../../src/http/cache/response-cache.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { everything, vaultThatIs } from '../../support/everything.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { withNotifiedVersions } from '../../support/notified-versions.ts'
import { apply, midnight } from '../../support/world.ts'

const key = 'a-key-of-this-test'
const vault = vaultThatIs.earning
const shared = 'public, max-age=0, s-maxage=3, stale-while-revalidate=1, stale-if-error=60'
const graphql = (query: string): string => `/graphql?query=${encodeURIComponent(query)}`
const ofVault = (fields: string): string => graphql(`{ vault(address: "${vault}") { ${fields} } }`)
const ofVaults = ['snapshot', 'equity', 'events'].map((name) => `/vault/${vault}/${name}`)
const results = [
  ...ofVaults,
  '/strategies',
  '/universe',
  '/universe/pairs',
  ofVault('status'),
  graphql('{strategies{id}}'),
]
const json = { accept: 'application/json' }

let database: TestDatabase

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, everything)
})

function gateway(options: Partial<AppOptions> = {}): TestGateway {
  return gatewayOn(database, { edgeSeconds: 5, ...options })
}

/** Creates a gateway that is notified of commits, at version 5.5, and caches responses. */
function listeningGateway(options: Partial<AppOptions> = {}): TestGateway {
  const versions = new DataVersions()
  const cache = createResponseCache(1_000_000)
  versions.listening(true)
  cache.listening(true)
  versions.committed({ version: '5.5', newestTs: 5 })
  return gatewayOn(
    withNotifiedVersions(database, () => versions),
    { edgeSeconds: 5, versions, cache, ...options },
  )
}

function varyOf({ headers }: Response): string[] {
  return (headers.get('vary') ?? '').split(', ')
}

describe('edge caches may store', () => {
  test.each(results)('the result of a GET: %s', async (path) => {
    const whole = await gateway().get(path, { headers: json })
    expect([whole.status, whole.headers.get('cache-control')]).toEqual([200, shared])
    expect(varyOf(whole)).toEqual(expect.arrayContaining(['accept-encoding', 'min-data-version']))
    const negotiates = /graphql|equity|events/.test(path)
    expect(varyOf(whole).includes('accept')).toBe(negotiates)
    const etag = whole.headers.get('etag') ?? ''
    const unchanged = await gateway().get(path, { headers: { ...json, 'if-none-match': etag } })
    expect([unchanged.status, unchanged.headers.get('cache-control')]).toEqual([304, shared])
    expect(varyOf(unchanged)).toEqual(varyOf(whole))
  })

  test('the same from the response cache, and for HEAD', async () => {
    const { get } = listeningGateway()
    for (const method of ['GET', 'GET', 'HEAD']) {
      expect((await get('/strategies', { method })).headers.get('cache-control')).toBe(shared)
    }
  })

  test('nothing if no edge cache time is configured, with the same ETag', async () => {
    const path = `/vault/${vault}/snapshot`
    const alone = await gateway({ edgeSeconds: 0 }).get(path)
    expect(alone.headers.get('cache-control')).toBe('no-cache')
    expect(varyOf(alone)).toEqual(['accept-encoding'])
    expect(alone.headers.get('etag')).toBe((await gateway().get(path)).headers.get('etag'))
  })

  test.each([2, 3, 5, 60])('what an edge that counts whole seconds serves for %d s in all', async (edgeSeconds) => {
    const { headers } = await gateway({ edgeSeconds }).get('/strategies')
    const [, fresh, stale] =
      /s-maxage=(\d+), stale-while-revalidate=(\d+)/.exec(headers.get('cache-control') ?? '') ?? []
    expect(Number(fresh) + Number(stale) + 1).toBe(edgeSeconds)
  })

  test('immutable content for a day', async () => {
    const past = await gateway().get(`/vault/${vault}/snapshot?at=${midnight + 3_600}`)
    expect([past.status, past.headers.get('cache-control')]).toEqual([200, 'public, max-age=86400'])
    expect(varyOf(past)).toEqual(['accept-encoding', 'min-data-version'])
  })

  test('nothing that needs an API key, over both protocols', async () => {
    const { get } = gateway({ apiKeys: [key] })
    const headers = { ...json, authorization: `Bearer ${key}` }
    for (const path of results)
      expect((await get(path, { headers })).headers.get('cache-control')).toBe('private, no-cache')
    const past = await get(`/vault/${vault}/snapshot?at=${midnight + 3_600}`, { headers })
    expect(past.headers.get('cache-control')).toBe('private, max-age=86400')
    expect(varyOf(past)).toEqual(['accept-encoding', 'min-data-version'])
    expect((await get('/strategies')).headers.get('cache-control')).toBe('no-cache')
  })
})

describe('edge caches may not store', () => {
  test.each([
    ['a refused parameter', `/vault/${vault}/equity?points=1`, 400],
    ['an unknown vault', `/vault/0x${'1'.repeat(40)}/snapshot`, 404],
    ['an unknown path', '/nowhere', 404],
    ['a document that is not GraphQL', graphql('{'), 200],
    ['a field that is refused', ofVault('equity(points: 1) { ts }'), 200],
    ['a subscription', graphql('subscription { meta { version } }'), 200],
    ['a mutation', graphql('mutation { __typename }'), 405],
    ['an answer that is made from no data', graphql('{ __typename }'), 200],
    ['an answer that is true for a moment', graphql('{ _meta { ageSeconds } strategies { id } }'), 200],
  ])('%s', async (_, path, status) => {
    const { get } = listeningGateway()
    for (let times = 0; times < 2; times++) {
      const response = await get(path, { headers: json })
      expect([response.status, response.headers.get('cache-control')]).toEqual([status, 'no-cache'])
    }
  })

  test('a query by POST', async () => {
    const response = await gateway().post('{ strategies { id } }')
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-cache'])
  })

  test("GraphiQL's page, which names a vault", async () => {
    const page = await gateway().get('/graphql', { headers: { accept: 'text/html' } })
    expect(page.headers.get('content-type')).toContain('text/html')
    expect(page.headers.get('cache-control')).toBe('no-cache')
  })

  test('the refusal of a version that is not reached', async () => {
    const refused = await listeningGateway().get('/strategies', { headers: { 'min-data-version': '5.4' } })
    expect([refused.status, refused.headers.get('cache-control')]).toEqual([409, 'no-cache'])
  })

  test('the rate limit of a sender', async () => {
    const limited = { rateLimit: { requests: 1, seconds: 60 } }
    const { get } = gateway(limited)
    expect((await get('/strategies')).headers.has('ratelimit')).toBe(false)
    expect((await get('/strategies')).status).toBe(429)
    expect((await gateway({ ...limited, edgeSeconds: 0 }).get('/strategies')).headers.has('ratelimit')).toBe(true)
  })
})
