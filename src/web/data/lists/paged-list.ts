import type { VirtualItem } from '@tanstack/virtual-core'
import type { TypedDocumentString } from '../../documents.generated.ts'
import type { QueryClient, QueryResult } from '../gateway-client.ts'
import { RetryTimer } from '../retry-timer.ts'
import type { ListPage } from './whole-lists.ts'

/** The newest loaded version of a page of a list. */
interface LoadedPage<Row> extends ListPage<Row> {
  readonly isOutdated: boolean
}

const noPage = { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } }

/** The position of a row: the page, and the index on it. */
interface Place<Row> {
  readonly page: number
  readonly row: Row
}

/** Options of {@link PagedList}. */
export interface PagedListOptions<Data, Variables, Row> {
  readonly client: QueryClient
  readonly document: TypedDocumentString<Data, Variables>
  readonly variables: Variables
  /** Finds the list in the data; null where there is none. */
  readonly pageOf: (data: Data) => ListPage<Row> | null
}

/** The loaded rows of a list, for a table. */
export interface ListRows<Row> {
  /** Number of loaded rows. */
  readonly length: number
  readonly hasMore: boolean
  /** Measured heights of rendered rows. */
  measurements: VirtualItem[]
  rowAt(index: number): Row | undefined
  /** Returns the index of the page that contains a row. */
  pageAt(index: number): number
  /** Sets the visible rows, and loads the next page where they exceed the loaded ones. */
  see(from: number, to: number): void
  /** Loads the next page, also after an error. */
  loadMore(): void
}

/**
 * A list that is read page by page, as far as its rows become visible. After a change the visible pages are read again,
 * and the others when they become visible. One request runs at a time, so that each page starts at the end of the
 * previous one.
 */
export class PagedList<Data, Variables, Row> implements ListRows<Row> {
  measurements: VirtualItem[] = []
  /** The newest result. */
  result: QueryResult<Data> = { data: undefined, error: undefined }
  private pages: readonly LoadedPage<Row>[] = []
  private places: readonly Place<Row>[] = []
  private inSight: readonly [from: number, to: number] = [0, 0]
  private changes = 0
  private isHalted = false
  private isLoading = false
  private stop: () => void = () => undefined
  private onChange: (() => void) | null = null
  private readonly retries = new RetryTimer(() => this.goOn())
  private readonly options: PagedListOptions<Data, Variables, Row>

  constructor(options: PagedListOptions<Data, Variables, Row>) {
    this.options = options
  }

  get length(): number {
    return this.places.length
  }

  get hasMore(): boolean {
    return this.pages.at(-1)?.pageInfo.hasNextPage === true
  }

  rowAt(index: number): Row | undefined {
    return this.places[index]?.row
  }

  pageAt(index: number): number {
    return this.places[index]?.page ?? this.pages.length
  }

  /** Updates the list, and calls a function after each result, until the list is closed. */
  open(onChange: () => void): void {
    this.onChange = onChange
    this.retries.resume()
    this.refresh()
  }

  /** Ends the request in progress. The rows remain. */
  close(): void {
    this.onChange = null
    this.retries.cancel()
    this.stop()
    this.isLoading = false
  }

  /** Reads the visible rows again, and others when they become visible. */
  refresh(): void {
    this.changes++
    this.pages = this.pages.map((page) => ({ ...page, isOutdated: true }))
    if (!this.retries.isRefused) this.goOn()
  }

  see(from: number, to: number): void {
    this.inSight = [from, to]
    this.load()
  }

  loadMore(): void {
    this.inSight = [this.inSight[0], this.length]
    this.refresh()
  }

  /** Loads also after an error. */
  private goOn(): void {
    this.retries.cancel()
    this.isHalted = false
    this.load()
  }

  private load(): void {
    const number = this.nextPage()
    if (this.isLoading || this.onChange === null || this.isHalted || number === null) return
    const after = this.pages[number - 1]?.pageInfo.endCursor ?? null
    const { client, document, variables } = this.options
    const { changes } = this
    this.isLoading = true
    this.stop = client.query(document, { ...variables, after }, (result) => {
      this.isLoading = false
      this.take(number, result, changes !== this.changes)
    })
  }

  /** Returns the index of the page to read next: the first outdated visible page, or a new page. */
  private nextPage(): number | null {
    const [from, to] = this.inSight
    const first = Math.max(0, Math.min(this.pageAt(from), this.pages.length - 1))
    const outdated = this.pages.findIndex(({ isOutdated }, number) => isOutdated && number >= first)
    if (outdated !== -1 && outdated <= this.pageAt(to)) return outdated
    if (this.pages.length === 0 || (this.hasMore && to >= this.length)) return this.pages.length
    return null
  }

  private take(number: number, { data, error }: QueryResult<Data>, isOutdated: boolean): void {
    this.result = { data: data ?? this.result.data, error }
    this.retries.ended(error)
    this.isHalted = data === undefined && (!isOutdated || this.retries.isRefused)
    if (data !== undefined) {
      const page = this.options.pageOf(data) ?? noPage
      const after = page.pageInfo.hasNextPage ? this.pagesBehind(number, page) : []
      this.pages = [...this.pages.slice(0, number), { ...page, isOutdated }, ...after]
      this.places = this.pages.flatMap(({ nodes }, at) => nodes.map((row) => ({ page: at, row })))
    }
    this.onChange?.()
    this.load()
  }

  /** Returns the pages after one that was read again: outdated where its end has moved, at which they start. */
  private pagesBehind(number: number, { pageInfo }: ListPage<Row>): readonly LoadedPage<Row>[] {
    const behind = this.pages.slice(number + 1)
    const isSameEnd = this.pages[number]?.pageInfo.endCursor === pageInfo.endCursor
    return isSameEnd ? behind : behind.map((page) => ({ ...page, isOutdated: true }))
  }
}
