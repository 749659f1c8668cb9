import { CombinedError } from '@urql/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { QueryClient, QueryResult } from '../../src/web/data/gateway-client.ts'
import { PagedList } from '../../src/web/data/lists/paged-list.ts'
import { openLiveQuery } from '../../src/web/data/live-query.ts'
import {
  VaultFeesDocument,
  VaultTableDocument,
  type VaultTableQuery,
  type VaultTableQueryVariables,
} from '../../src/web/documents.generated.ts'
import { addressOf } from '../support/world.ts'

/** When each request was made, in seconds. */
let requestTimes: number[]
/** Error with which requests fail; null while they are answered. */
let failure: CombinedError | null

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
  vi.spyOn(Math, 'random').mockReturnValue(0)
  requestTimes = []
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

function refused(status: number, headers: Record<string, string> = {}): CombinedError {
  return new CombinedError({ graphQLErrors: ['no'], response: new Response(null, { status, headers }) })
}

const client: QueryClient = {
  query(_, __, onResult) {
    requestTimes.push(Date.now() / 1000)
    const data = { vaults: { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } } }
    const result = failure === null ? { data, error: undefined } : { data: undefined, error: failure }
    const timer = setTimeout(() => onResult(result as unknown as QueryResult<never>))
    return () => clearTimeout(timer)
  },
}

interface OpenQuery {
  refresh(): void
  close(): void
}

function openQuery(): OpenQuery {
  return openLiveQuery(client, VaultFeesDocument, { address: addressOf(1) }, () => undefined)
}

function openList(): PagedList<VaultTableQuery, VaultTableQueryVariables, VaultTableQuery['vaults']['nodes'][number]> {
  const list = new PagedList({
    client,
    document: VaultTableDocument,
    variables: { first: 3, orderBy: { field: 'VALUE_USD', direction: 'DESC' } },
    pageOf: ({ vaults }) => vaults,
  })
  list.open(() => undefined)
  return list
}

test('a list that is closed and opened again is requested when Retry-After permits it', async () => {
  failure = refused(429, { 'retry-after': '7' })
  const list = openList()
  await askedWithin(1)
  list.close()
  failure = null
  expect(await askedWithin(1)).toEqual([0])
  list.open(() => undefined)
  expect(await askedWithin(4)).toEqual([0])
  expect(await askedWithin(60)).toEqual([0, 7])
  expect(list.result.error).toBeUndefined()

  failure = refused(429, { 'retry-after': '7' })
  list.refresh()
  await askedWithin(1)
  list.close()
  failure = null
  await askedWithin(30)
  requestTimes = []
  const opened = Date.now() / 1000
  list.open(() => undefined)
  expect((await askedWithin(0)).map((second) => second - Math.floor(opened))).toEqual([0])
})

/** Advances the clock, and returns the seconds at which requests were sent. */
async function askedWithin(seconds: number): Promise<number[]> {
  await vi.advanceTimersByTimeAsync(seconds * 1000)
  return requestTimes.map(Math.floor)
}

describe.each([
  ['a query', openQuery],
  ['a list', openList],
])('%s', (_, open) => {
  test('that is refused temporarily is retried after growing pauses, until it is answered', async () => {
    failure = refused(503)
    open()
    expect(await askedWithin(20)).toEqual([0, 1, 3, 7, 15])
    failure = null
    expect(await askedWithin(600)).toEqual([0, 1, 3, 7, 15, 31])
  })

  test('is not retried before Retry-After when the data changes', async () => {
    failure = refused(429, { 'retry-after': '7' })
    const query = open()
    for (let second = 1; second <= 6; second++) {
      await askedWithin(1)
      query.refresh()
    }
    expect(await askedWithin(0)).toEqual([0])
    failure = null
    expect(await askedWithin(2)).toEqual([0, 7])
  })

  test('begins with the first pause again after an answer, and waits for a minute at most', async () => {
    failure = refused(503)
    const query = open()
    await askedWithin(300)
    const [last = 0, before = 0] = requestTimes.slice(-2).reverse()
    expect(Math.floor(last - before)).toBe(60)
    failure = null
    await askedWithin(100)
    failure = new CombinedError({ networkError: new TypeError('fetch failed') })
    requestTimes = []
    const begun = Date.now() / 1000
    query.refresh()
    expect((await askedWithin(2)).map((second) => Math.round(second - begun))).toEqual([0, 1])
  })

  test.each([429, 503])('waits for the Retry-After of a refusal with status %i', async (status) => {
    failure = refused(status, { 'retry-after': '7' })
    open()
    expect(await askedWithin(25)).toEqual([0, 7, 14, 21])
  })

  test.each([400, 401, 500])('that is refused permanently is not retried: %i', async (status) => {
    failure = refused(status)
    open()
    expect(await askedWithin(600)).toEqual([0])
  })

  test('that was closed, or belongs to a hidden page, is not retried', async () => {
    failure = refused(503)
    const query = open()
    const page = { visibilityState: 'hidden' }
    vi.stubGlobal('document', page)
    expect(await askedWithin(600)).toEqual([0])
    page.visibilityState = 'visible'
    expect(await askedWithin(2)).toHaveLength(2)
    query.close()
    expect(await askedWithin(600)).toHaveLength(2)
  })
})
