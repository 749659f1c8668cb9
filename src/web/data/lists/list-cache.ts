import { PagedList, type PagedListOptions } from './paged-list.ts'

/** Maximum number of lists that stay loaded after their view was left. */
const maxLists = 5

/** Cache of the last viewed lists, so that going back shows the same rows immediately. */
export class ListCache {
  private readonly lists = new Map<string, unknown>()

  /** Returns the list of a query, with its cached rows. */
  listOf<Data, Variables, Row>(options: PagedListOptions<Data, Variables, Row>): PagedList<Data, Variables, Row> {
    const key = `${options.document.toString()}${JSON.stringify(options.variables)}`
    // All lists of one document have the same types.
    const list = (this.lists.get(key) as PagedList<Data, Variables, Row> | undefined) ?? new PagedList(options)
    this.lists.delete(key)
    this.lists.set(key, list)
    for (const oldest of [...this.lists.keys()].slice(0, -maxLists)) this.lists.delete(oldest)
    return list
  }
}
