import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { Client, fetchExchange, type RequestPolicy } from '@urql/core'
import { cacheExchange } from '@urql/exchange-graphcache'
import { introspectionFromSchema } from 'graphql'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { schema } from '../../src/graphql/schema/schema.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { gatewayOn } from '../support/gateway.ts'
import { serverOf, type TestServer } from '../support/server.ts'
import {
  currentPrices,
  marked,
  portfolio,
  type Portfolio,
  portfolioByRawIds,
  positionById,
  twinFacts,
  twinPositions,
  twins,
} from '../support/twin-vaults.ts'
import { apply, midnight } from '../support/world.ts'

let database: TestDatabase
let server: TestServer
let url: string

/** Returns the data of a query, without a caching client. */
async function fetchData(query: string): Promise<unknown> {
  const body = JSON.stringify({ query })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return ((await response.json()) as { data: unknown }).data
}

/** A GraphQL client with a normalised cache. */
interface CachingClient {
  /** Sends a query, and stores its response in the cache. */
  fetch(query: string, variables?: Record<string, unknown>): Promise<unknown>
  /** Reads a query from the cache only. */
  cached(query: string, variables?: Record<string, unknown>): Promise<unknown>
}

function apollo(): CachingClient {
  const client = new ApolloClient({ cache: new InMemoryCache(), link: new HttpLink({ uri: url }) })
  return {
    fetch: async (query, variables = {}) =>
      (await client.query({ query: gql(query), variables, fetchPolicy: 'network-only' })).data,
    cached: async (query, variables = {}) =>
      (await client.query({ query: gql(query), variables, fetchPolicy: 'cache-only' })).data,
  }
}

function urql(): CachingClient {
  const embedded = (): null => null
  const cache = cacheExchange({
    schema: introspectionFromSchema(schema),
    keys: { VaultConnection: embedded, LedgerConnection: embedded, PriceRange: embedded },
  })
  const client = new Client({ url, exchanges: [cache, fetchExchange], preferGetMethod: false })
  const execute = async (
    query: string,
    variables: Record<string, unknown>,
    requestPolicy: RequestPolicy,
  ): Promise<unknown> => {
    const { data, error } = await client.query<unknown>(query, variables, { requestPolicy }).toPromise()
    if (error !== undefined) throw error
    return data
  }
  return {
    fetch: (query, variables = {}) => execute(query, variables, 'network-only'),
    cached: (query, variables = {}) => execute(query, variables, 'cache-only'),
  }
}

describe.each([
  ['Apollo Client', apollo],
  ["urql's Graphcache", urql],
])('the cache of %s', (_, create) => {
  beforeEach(async () => {
    database = await emptyDatabase()
    await apply(database, twinFacts)
    server = await serverOf(gatewayOn(database).app)
    url = `${server.origin}/graphql`
  })

  afterEach(() => server.close())

  test('keeps the positions of two vaults that share a raw identifier', async () => {
    const client = create()
    await client.fetch(portfolio)
    const cached = await client.cached(portfolio)
    expect(cached).toEqual(await fetchData(portfolio))
    expect(currentPrices(cached as Portfolio)).toEqual([95, 105])
  })

  test('loses one of the positions if their ids are the raw identifiers', async () => {
    const client = create()
    await client.fetch(portfolioByRawIds)
    const cached = await client.cached(portfolioByRawIds)
    expect(currentPrices((await fetchData(portfolioByRawIds)) as Portfolio)).toEqual([95, 105])
    expect(new Set(currentPrices(cached as Portfolio)).size).toBe(1)
  })

  test('updates only the position that is fetched by its id', async () => {
    const client = create()
    await client.fetch(portfolio)
    const [first] = twins
    await apply(database, [marked(first, midnight + 60, '42')])
    expect(await client.fetch(positionById, { id: twinPositions[0] })).toMatchObject({
      node: { range: { current: 42 } },
    })
    expect(currentPrices((await client.cached(portfolio)) as Portfolio)).toEqual([42, 105])
    await client.fetch(positionById, { id: twinPositions[1] })
    expect(currentPrices((await client.cached(portfolio)) as Portfolio)).toEqual([42, 105])
  })
})
