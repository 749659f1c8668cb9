/** A GraphQL connection, without edges. */
export interface Connection<Node> {
  readonly nodes: readonly Node[]
  readonly pageInfo: {
    readonly hasNextPage: boolean
    readonly hasPreviousPage: boolean
    readonly startCursor: string | null
    readonly endCursor: string | null
  }
}

export const pageInfo = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'

/** More than the longest list of a test has. */
const maxPages = 100

/**
 * Reads all pages of a list.
 * @param next reads the page after one; null after the last
 * @throws {Error} after 100 pages
 */
export async function allPages<Page>(
  first: Page,
  next: (page: Page) => Promise<Page | null> | null,
): Promise<[Page, ...Page[]]> {
  const pages: [Page, ...Page[]] = [first]
  for (let page = await next(first); page !== null; page = await next(page)) {
    pages.push(page)
    if (pages.length > maxPages) throw new Error(`there are more than ${maxPages} pages`)
  }
  return pages
}

/**
 * Reads all pages of a connection.
 * @param read reads the page after a cursor; null for the first one
 */
export async function connectionPages<Node>(
  read: (after: string | null) => Promise<Connection<Node>>,
): Promise<[Connection<Node>, ...Connection<Node>[]]> {
  return allPages(await read(null), ({ pageInfo: { hasNextPage, endCursor } }) =>
    hasNextPage ? read(endCursor) : null,
  )
}

/** Reads all pages of a REST list, by their Link headers. */
export async function linkedPages(
  get: (path: string) => Promise<Response>,
  path: string,
): Promise<[Response, ...Response[]]> {
  return allPages(await get(path), (response) => {
    const next = nextLink(response)
    return next === null ? null : get(next)
  })
}

/**
 * Returns the address of the next page; null without a Link header.
 * @throws {Error} for another Link header
 */
export function nextLink(response: Response): string | null {
  const link = response.headers.get('link')
  if (link === null) return null
  const target = /^<([^>]+)>; rel="next"$/.exec(link)?.[1]
  if (target === undefined) throw new Error(`Not a link to the next page: ${link}`)
  return target
}
