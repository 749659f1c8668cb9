import type { VirtualItem } from '@tanstack/virtual-core'
import type { TypedDocumentString } from '../../documents.generated.ts'
import type { GatewayClient, QueryResult } from '../gateway-client.ts'
import { RetryTimer } from '../retry-timer.ts'
import type { ListPage } from './whole-lists.ts'

/** A page of a list, as it was loaded last. */
interface LoadedPage<Row> extends ListPage<Row> {
  readonly isOutdated: boolean
}

const noPage = { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } }

/** A place of a list: the page that a row is on, and its number there. */
interface Place<Row> {
  readonly page: number
  readonly row: Row
}

/** How a list is read. */
export interface PagedListOptions<Data, Variables, Row> {
  readonly client: GatewayClient
  readonly document: TypedDocumentString<Data, Variables>
  readonly variables: Variables
  /** Finds the list in the data; null where there is none. */
  readonly pageOf: (data: Data) => ListPage<Row> | null
}

/** The loaded rows of a list, as a table shows them. */
export interface ListRows<Row> {
  /** How many rows are loaded. */
  readonly length: number
  readonly hasMore: boolean
  /** Heights of the rows that were on the page. */
  measurements: VirtualItem[]
  rowAt(index: number): Row | undefined
  /** Returns the number of the page that a row is on. */
  pageAt(index: number): number
  /** Tells which rows are in sight, and loads the next page where they go beyond the loaded ones. */
  see(from: number, to: number): void
  /** Loads the next page, also after an error. */
  loadMore(): void
}

/**
 * A list that is read page by page, as far as its rows are looked at. After a change the pages in sight are read anew,
 * and the others when they come into sight. One request runs at a time, so that each page begins at the end of the one
 * before.
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

  /** Keeps the list up to date, and calls a function after each result, until the list is closed. */
  open(onChange: () => void): void {
    this.onChange = onChange
    this.refresh()
  }

  /** Ends the request in progress. The rows stay. */
  close(): void {
    this.onChange = null
    this.retries.cancel()
    this.stop()
    this.isLoading = false
  }

  /** Reads the rows in sight anew, and others when they come into sight. */
  refresh(): void {
    this.changes++
    this.pages = this.pages.map((page) => ({ ...page, isOutdated: true }))
    this.goOn()
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

  /** Returns the number of the page that is to be read next: the first outdated one in sight, or one more. */
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
    this.isHalted = data === undefined && !isOutdated
    this.retries.ended(error)
    if (data !== undefined) {
      const page = this.options.pageOf(data) ?? noPage
      const after = page.pageInfo.hasNextPage ? this.pagesBehind(number, page) : []
      this.pages = [...this.pages.slice(0, number), { ...page, isOutdated }, ...after]
      this.places = this.pages.flatMap(({ nodes }, at) => nodes.map((row) => ({ page: at, row })))
    }
    this.onChange?.()
    this.load()
  }

  /** Returns the pages behind one that was read anew: outdated where its end has moved, as they began at the old one. */
  private pagesBehind(number: number, { pageInfo }: ListPage<Row>): readonly LoadedPage<Row>[] {
    const behind = this.pages.slice(number + 1)
    const isSameEnd = this.pages[number]?.pageInfo.endCursor === pageInfo.endCursor
    return isSameEnd ? behind : behind.map((page) => ({ ...page, isOutdated: true }))
  }
}
