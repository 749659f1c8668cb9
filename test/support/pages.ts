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

/** No list of a test is longer: a walk that goes on is going in circles. */
const maxPages = 100

/** Every page of a list, from the first to the one that says it is the last. */
export async function walk<Page>(
  first: Page,
  next: (page: Page) => Promise<Page | null> | null,
): Promise<[Page, ...Page[]]> {
  const pages: [Page, ...Page[]] = [first]
  for (let page = await next(first); page !== null; page = await next(page)) {
    pages.push(page)
    if (pages.length > maxPages) throw new Error('the pages never end')
  }
  return pages
}

/** Every page of a connection, each asked for after the one before. */
export async function connectionPages<Node>(
  ask: (after: string | null) => Promise<Connection<Node>>,
): Promise<[Connection<Node>, ...Connection<Node>[]]> {
  return walk(await ask(null), ({ pageInfo: { hasNextPage, endCursor } }) => (hasNextPage ? ask(endCursor) : null))
}

/** Every page of a REST list, by the Link headers. */
export async function linkedPages(
  get: (path: string) => Promise<Response>,
  path: string,
): Promise<[Response, ...Response[]]> {
  return walk(await get(path), (response) => {
    const next = nextLink(response)
    return next === null ? null : get(next)
  })
}

/** Where a Link header says the next page is; null where there is none. */
export function nextLink(response: Response): string | null {
  const link = response.headers.get('link')
  if (link === null) return null
  const target = /^<([^>]+)>; rel="next"$/.exec(link)?.[1]
  if (target === undefined) throw new Error(`not a link to a next page: ${link}`)
  return target
}
