import { PagedList, type PagedListOptions } from './paged-list.ts'

/** Lists that stay loaded after their view was left, for the way back. */
const mostLists = 5

/** The lists that were looked at last, so that the way back leads to the same rows at once. */
export class ListCache {
  private readonly lists = new Map<string, unknown>()

  /** Returns the list of a query, with the rows that it has had. */
  listOf<Data, Variables, Row>(options: PagedListOptions<Data, Variables, Row>): PagedList<Data, Variables, Row> {
    const key = `${options.document.toString()}${JSON.stringify(options.variables)}`
    // Lists of one document are all of its types.
    const list = (this.lists.get(key) as PagedList<Data, Variables, Row> | undefined) ?? new PagedList(options)
    this.lists.delete(key)
    this.lists.set(key, list)
    for (const oldest of [...this.lists.keys()].slice(0, -mostLists)) this.lists.delete(oldest)
    return list
  }
}
