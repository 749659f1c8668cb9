import type { CombinedError } from '@urql/core'
import {
  type TypedDocumentString,
  VaultEquityDocument,
  type VaultEquityQuery,
  type VaultEquityQueryVariables,
} from '../../documents.generated.ts'
import type { QueryClient } from '../gateway-client.ts'
import { retryAfter } from '../retry-timer.ts'

/** A page of a list. */
export interface ListPage<Row> {
  readonly nodes: readonly Row[]
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
}

/** Maximum number of points of a series in one query. */
const maxPoints = 2_000
/** Maximum number of retries of a temporarily refused request. */
const maxRetries = 5

type Points = NonNullable<VaultEquityQuery['vault']>['equity']
type Window = Pick<VaultEquityQueryVariables, 'address' | 'since' | 'until'>

/**
 * Reads the pages of a list, one after the other.
 * @param variables with the largest permitted page size
 * @param pageOf finds the list in the data; null ends it
 * @param maxPages maximum number of pages to read; all by default
 * @throws {CombinedError} when the request for a page fails
 */
export async function readWholeList<Data, Variables, Row>(
  client: QueryClient,
  document: TypedDocumentString<Data, Variables>,
  variables: Variables,
  pageOf: (data: Data) => ListPage<Row> | null,
  maxPages = Number.POSITIVE_INFINITY,
): Promise<readonly Row[]> {
  const rows: Row[] = []
  let after: string | null = null
  let pages = 0
  do {
    const page: ListPage<Row> | null = pageOf(await readOnce(client, document, { ...variables, after }))
    if (page === null) break
    for (const row of page.nodes) rows.push(row)
    after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null
  } while (after !== null && ++pages < maxPages)
  return rows
}

/**
 * Reads all recorded points of a window. A list with the maximum number of points may be downsampled: its window is
 * read in two halves.
 * @throws {CombinedError} when the request for a part fails
 */
export async function readWholeSeries(client: QueryClient, window: Window): Promise<Points> {
  const variables = { ...window, points: maxPoints, marks: 1 }
  const points = (await readOnce(client, VaultEquityDocument, variables)).vault?.equity ?? []
  const middle = points[points.length >> 1]?.ts
  if (points.length < maxPoints || middle === undefined || middle === points[0]?.ts) return points
  const earlier = await readWholeSeries(client, { ...window, until: middle })
  return [...earlier, ...(await readWholeSeries(client, { ...window, since: middle }))]
}

/** Runs a query, and retries it after the pause that the gateway requests. */
export async function readOnce<Data, Variables>(
  client: QueryClient,
  document: TypedDocumentString<Data, Variables>,
  variables: Variables,
): Promise<Data> {
  for (let retries = 0; ; retries++) {
    const { data, error } = await resultOf(client, document, variables)
    if (data !== undefined) return data
    const seconds = retryAfter(error)
    if (seconds === null || retries === maxRetries) throw error ?? new Error('The gateway gave no data.')
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  }
}

function resultOf<Data, Variables>(
  client: QueryClient,
  document: TypedDocumentString<Data, Variables>,
  variables: Variables,
): Promise<{ readonly data: Data | undefined; readonly error: CombinedError | undefined }> {
  return new Promise((resolve) => client.query(document, variables, resolve))
}
