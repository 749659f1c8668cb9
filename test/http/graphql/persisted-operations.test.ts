import { createHash } from 'node:crypto'
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createResponseCache, type ResponseCache } from '../../../src/http/cache/response-cache.ts'
import { defaultQueryLimits, persistedOperationLimits } from '../../../src/limits.ts'
import { createFindDocument } from '../../../src/http/graphql/persisted-operations.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { everything, vaultThatIs } from '../../support/everything.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { apply } from '../../support/world.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const ofStrategies = '{ strategies { id name } }'
const ofVault = 'query Vault($address: Address!) { vault(address: $address) { status } }'
const notFound = { message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } }
const json = { 'content-type': 'application/json' }
const result = 'application/graphql-response+json'

let database: TestDatabase

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, everything)
})

interface Sent {
  readonly query?: unknown
  readonly variables?: object
  readonly extensions?: unknown
}

interface Received {
  readonly status: number
  readonly cacheControl: string | null
  readonly data?: unknown
  readonly errors?: readonly { readonly message: string; readonly extensions?: object }[]
}

function hashed(text: string, sent: Sent = {}): Sent {
  return { ...sent, extensions: { persistedQuery: { version: 1, sha256Hash: sha256(text) } } }
}

async function received(response: Response): Promise<Received> {
  const { status, headers } = response
  return { status, cacheControl: headers.get('cache-control'), ...((await response.json()) as object) }
}

async function byGet({ get }: TestGateway, sent: Sent, accept = result): Promise<Received> {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(sent)) {
    query.set(name, typeof value === 'string' ? value : JSON.stringify(value))
  }
  return received(await get(`/graphql?${query.toString()}`, { headers: { accept } }))
}

async function byPost({ get }: TestGateway, sent: Sent, accept = result): Promise<Received> {
  return received(await get('/graphql', { method: 'POST', headers: { ...json, accept }, body: JSON.stringify(sent) }))
}

function caching(): ResponseCache {
  const cache = createResponseCache(1_000_000)
  cache.listening(true)
  return cache
}

describe('a document', () => {
  test.each([
    ['GET', byGet],
    ['POST', byPost],
  ])('is asked for by its hash once it was sent with it, by %s', async (_, send) => {
    const gateway = gatewayOn(database, { edgeSeconds: 5 })
    const variables = { address: vaultThatIs.earning }
    const unknown = await send(gateway, hashed(ofVault, { variables }))
    expect(unknown).toEqual({ status: 404, cacheControl: 'no-cache', errors: [notFound] })
    const first = await send(gateway, hashed(ofVault, { variables, query: ofVault }))
    expect(first).toMatchObject({ status: 200, data: { vault: { status: 'EARNING' } } })
    expect(await send(gateway, hashed(ofVault, { variables }))).toEqual(first)
    const other = await byGet(gateway, hashed(ofVault, { variables: { address: vaultThatIs.suspended } }))
    expect(other).toMatchObject({ data: { vault: { status: 'SUSPENDED' } } })
    expect(other.cacheControl).toContain('s-maxage=3')
  })

  test('that is not known is 200 with an error for clients of application/json, and never stored', async () => {
    const gateway = gatewayOn(database, { edgeSeconds: 5, cache: caching() })
    for (const send of [byGet, byPost]) {
      const sent = await send(gateway, hashed(ofStrategies), 'application/json')
      expect(sent).toEqual({ status: 200, cacheControl: 'no-cache', errors: [notFound] })
    }
    await byPost(gateway, hashed(ofStrategies, { query: ofStrategies }))
    expect(await byGet(gateway, hashed(ofStrategies), 'application/json')).toMatchObject({ data: {} })
  })

  test.each([
    ['another text', hashed(ofVault, { query: ofStrategies }), 'BAD_REQUEST'],
    ['no string', { extensions: { persistedQuery: { version: 1, sha256Hash: 5 } } }, 'BAD_REQUEST'],
    ['no hash', { query: ofStrategies, extensions: { persistedQuery: { version: 1 } } }, 'BAD_REQUEST'],
    ['an unknown version', { extensions: { persistedQuery: { version: 2 } } }, 'PERSISTED_QUERY_NOT_SUPPORTED'],
    ['no object', { extensions: { persistedQuery: 1 } }, 'PERSISTED_QUERY_NOT_SUPPORTED'],
  ])('is refused with a hash that is of %s', async (_, sent, code) => {
    const gateway = gatewayOn(database)
    for (const send of [byGet, byPost]) {
      expect(await send(gateway, sent)).toMatchObject({ status: 400, errors: [{ extensions: { code } }] })
    }
    expect(await byGet(gateway, hashed(ofVault))).toMatchObject({ status: 404 })
  })

  test.each([
    ['is not valid', '{ nothing }'],
    ['is too long', `{ strategies { id } } #${'x'.repeat(defaultQueryLimits.bytes)}`],
  ])('that %s is not stored', async (_, query) => {
    const gateway = gatewayOn(database)
    expect((await byPost(gateway, hashed(query, { query }))).status).toBe(400)
    expect(await byPost(gateway, hashed(query))).toMatchObject({ status: 404, errors: [notFound] })
  })

  test('that is too long is refused for its length, for any hash', async () => {
    const gateway = gatewayOn(database)
    const query = `{ strategies { id } } #${'x'.repeat(defaultQueryLimits.bytes)}`
    const refused = await byPost(gateway, { ...hashed(ofVault), query })
    expect(refused).toMatchObject({
      status: 400,
      errors: [{ extensions: { code: 'QUERY_OVER_BOUND', bound: 'bytes' } }],
    })
  })

  test('that is a mutation is refused by GET with its hash', async () => {
    const query = 'subscription { meta { version } }'
    const gateway = gatewayOn(database, { persistedOperations: new Map([['s', query]]) })
    const sent = { extensions: { persistedQuery: { version: 1, sha256Hash: 's' } } }
    expect((await byGet(gateway, sent)).errors).toHaveLength(1)
  })

  test('is stored although its response comes from the response cache', async () => {
    const cache = caching()
    const first = gatewayOn(database, { cache })
    const second = gatewayOn(database, { cache })
    const sent = hashed(ofStrategies, { query: ofStrategies })
    for (const gateway of [first, second]) {
      for (const send of [byGet, byPost]) await send(gateway, sent)
    }
    const { hits } = cache.figures()
    expect(await byPost(second, hashed(ofStrategies))).toMatchObject({ status: 200 })
    await byPost(second, hashed(ofStrategies))
    expect(cache.figures().hits).toBe(hits + 1)
  })

  test('of the manifest is known from the start, by any id', async () => {
    const known = new Map([['the-strategies', ofStrategies]])
    const gateway = gatewayOn(database, { persistedOperations: known })
    const extensions = { persistedQuery: { version: 1, sha256Hash: 'the-strategies' } }
    expect(await byGet(gateway, { extensions })).toMatchObject({ status: 200, data: { strategies: [{}, {}] } })
    expect(await byPost(gateway, { extensions, query: ofStrategies })).toMatchObject({ status: 200 })
    expect(await byPost(gateway, { extensions, query: ofVault })).toMatchObject({ status: 400 })
  })
})

describe('the stored documents', () => {
  const { bytes, entries } = persistedOperationLimits
  const ask = (text: string) =>
    ({ ...hashed(text), query: text }) as Parameters<ReturnType<typeof createFindDocument>>[0]
  const sender = 'sender'
  const isKept = (find: ReturnType<typeof createFindDocument>, text: string): boolean => {
    try {
      return find(hashed(text), sender)?.text === text
    } catch {
      return false
    }
  }

  test.each([
    ['in number', entries, (each: number) => `{ a${each} }`],
    ['in bytes', Math.floor(bytes / 20_000) - 20, (each: number) => `{ a${each} }`.padEnd(9_000)],
  ])('is limited %s, and the least recent is forgotten', (_, fitting, text) => {
    const find = createFindDocument(defaultQueryLimits.bytes, new Map([['known', 'text']]))
    const all = Array.from({ length: 2 * fitting + 100 }, (_, each) => text(each))
    for (const each of all) find(ask(each), sender)?.keep(each)
    const kept = all.filter((each) => isKept(find, each))
    expect(kept.length).toBeGreaterThanOrEqual(fitting)
    expect(kept.length).toBeLessThan(2 * fitting)
    expect(kept).toEqual(all.slice(-kept.length))
    expect(find({ extensions: { persistedQuery: { version: 1, sha256Hash: 'known' } } }, sender)?.text).toBe('text')
  })

  test('of one client do not make others forgotten, nor does it take over those of others', () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const find = createFindDocument(defaultQueryLimits.bytes)
    const own = ['{ own }', '{ popular }']
    const greedy = Array.from({ length: 2 * entries }, (_, each) => `{ a${each} }`)
    find(ask('{ popular }'), 'greedy')?.keep('{ popular }')
    for (const each of own) find(ask(each), sender)?.keep(each)
    for (const each of [...own, ...greedy]) find(ask(each), 'greedy')?.keep(each)
    expect(own.filter((each) => isKept(find, each))).toEqual(own)
  })
})

describe('Apollo Client', () => {
  function client(gateway: TestGateway, asked: string[]) {
    const link = new HttpLink({
      uri: 'http://gateway.test/graphql',
      fetch: (url, init) => {
        const request = new Request(url, init)
        asked.push(`${request.method} ${request.url.includes('query=') || request.method === 'POST' ? 'text' : 'hash'}`)
        return gateway.app.fetch(request)
      },
    })
    const persisted = new PersistedQueryLink({ sha256, useGETForHashedQueries: true })
    return new ApolloClient({ cache: new InMemoryCache(), link: persisted.concat(link) })
  }

  test('sends a text once for all clients, and hashes by GET afterwards', async () => {
    const gateway = gatewayOn(database)
    const requested: string[] = []
    const query = gql(ofVault)
    for (const address of [vaultThatIs.earning, vaultThatIs.suspended]) {
      const { data } = await client(gateway, requested).query({ query, variables: { address } })
      expect(data).toMatchObject({ vault: { __typename: 'Vault' } })
    }
    expect(requested).toEqual(['GET hash', 'POST text', 'GET hash'])
  })
})
