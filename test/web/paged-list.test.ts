import { CombinedError } from '@urql/core'
import { beforeEach, expect, test } from 'vitest'
import type { QueryClient, QueryResult } from '../../src/web/data/gateway-client.ts'
import { ListCache } from '../../src/web/data/lists/list-cache.ts'
import { PagedList } from '../../src/web/data/lists/paged-list.ts'
import {
  VaultTableDocument,
  type VaultTableQuery,
  type VaultTableQueryVariables,
} from '../../src/web/documents.generated.ts'

type Vaults = VaultTableQuery['vaults']

const pageSize = 3
const variablesOf = (first: number): VaultTableQueryVariables => ({
  first,
  orderBy: { field: 'VALUE_USD', direction: 'DESC' },
})
let pageRequests: (readonly [after: string | null, answer: () => void, fail: () => void])[]
let ids: string[]
let list: PagedList<VaultTableQuery, VaultTableQueryVariables, Vaults['nodes'][number]>

/** A list of ids, whose page requests are answered by the test. */
const client: QueryClient = {
  query(_, variables, onResult) {
    const { after = null } = variables as { after?: string | null }
    const answer = (): void => {
      const from = after === null ? 0 : ids.indexOf(after) + 1
      const nodes = ids.slice(from, from + pageSize).map((id) => ({ id }))
      const pageInfo = { hasNextPage: from + pageSize < ids.length, endCursor: nodes.at(-1)?.id ?? null }
      onResult({ data: { vaults: { nodes, pageInfo } }, error: undefined } as unknown as QueryResult<never>)
    }
    const fail = (): void => onResult({ data: undefined, error: new CombinedError({ graphQLErrors: ['no'] }) })
    pageRequests.push([after, answer, fail])
    return () => void (pageRequests = pageRequests.filter(([, one]) => one !== answer))
  },
}

beforeEach(() => {
  pageRequests = []
  ids = [...'abcdefghi']
  list = new PagedList({
    client,
    document: VaultTableDocument,
    variables: variablesOf(pageSize),
    pageOf: ({ vaults }) => vaults,
  })
  list.open(() => undefined)
})

const rows = (): string => Array.from({ length: list.length }, (_, index) => list.rowAt(index)?.id ?? '').join('')

/** Answers the only running request, and returns the cursor of its page. */
function answer(): string | null | undefined {
  const [first, ...others] = pageRequests
  expect(others).toEqual([])
  pageRequests = []
  first?.[1]()
  return first?.[0]
}

test('pages are loaded one at a time, when the visible rows exceed the loaded ones', () => {
  expect([answer(), rows(), list.hasMore]).toEqual([null, 'abc', true])
  list.see(0, 2)
  expect(pageRequests).toEqual([])
  list.see(0, 7)
  expect([answer(), answer(), pageRequests.length]).toEqual(['c', 'f', 0])
  expect([rows(), list.hasMore, list.pageAt(4)]).toEqual(['abcdefghi', false, 1])
})

test('after a change the visible pages are read again, and the others when they become visible', () => {
  answer()
  list.see(0, 8)
  answer()
  answer()
  list.see(3, 5)
  ids = [...'ABCDEFGHI'].map((id) => ('CF'.includes(id) ? id.toLowerCase() : id))
  list.refresh()
  expect([answer(), pageRequests.length, rows()]).toEqual(['c', 0, 'abcDEfghi'])
  list.see(0, 3)
  expect([answer(), rows()]).toEqual([null, 'ABcDEfghi'])
})

test('if the end of a page moves, the pages after it are read again, so that no row is missing', () => {
  answer()
  list.see(0, 8)
  answer()
  answer()
  list.see(3, 5)
  ids = [...'XYabcdefghi']
  list.refresh()
  expect([answer(), pageRequests.length, rows()]).toEqual(['c', 0, 'abcdefghi'])
  list.see(0, 2)
  expect([answer(), pageRequests.length]).toEqual([null, 0])
  list.see(0, 5)
  expect([answer(), pageRequests.length]).toEqual(['a', 0])
  list.see(3, 8)
  expect([answer(), rows()]).toEqual(['d', 'XYabcdefg'])
})

test('a page is read again after a change during its request', () => {
  list.refresh()
  expect([answer(), answer(), pageRequests.length]).toEqual([null, null, 0])
})

test('a list that becomes shorter loses its last pages', () => {
  answer()
  list.see(0, 8)
  answer()
  answer()
  ids = ['a', 'b']
  list.see(0, 0)
  list.refresh()
  answer()
  expect([rows(), list.hasMore]).toEqual(['ab', false])
})

test('after an error the rows remain, and no request is sent until a change', () => {
  answer()
  list.see(0, 4)
  pageRequests.shift()?.[2]()
  expect([rows(), list.result.error?.message, pageRequests.length]).toEqual(['abc', '[GraphQL] no', 0])
  list.see(0, 5)
  expect(pageRequests).toEqual([])
  list.loadMore()
  expect([answer(), answer(), rows(), list.result.error]).toEqual([null, 'c', 'abcdef', undefined])
})

test('a closed list sends no requests, and has its rows when it is opened again', () => {
  list.refresh()
  list.close()
  list.see(0, 9)
  expect(pageRequests).toEqual([])
  list.open(() => undefined)
  answer()
  list.close()
  expect(rows()).toBe('abc')
})

test('the most recently viewed lists are retained', () => {
  const cache = new ListCache()
  const listOf = (first: number) =>
    cache.listOf({
      client,
      document: VaultTableDocument,
      variables: variablesOf(first),
      pageOf: ({ vaults }) => vaults,
    })
  const lists = [1, 2, 3, 4, 5].map(listOf)
  expect(listOf(1)).toBe(lists[0])
  listOf(6)
  expect(listOf(1)).toBe(lists[0])
  expect(listOf(2)).not.toBe(lists[1])
})
