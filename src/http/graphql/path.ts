import { acceptsEvents, prefersHtml } from '../middleware/content-negotiation.ts'
import type { IncomingRequest } from '../incoming-request.ts'

export const graphqlPath = '/graphql'

/** Returns whether a request is for the GraphQL endpoint. */
export function isGraphql({ path }: Pick<IncomingRequest, 'path'>): boolean {
  return path === graphqlPath
}

/** Returns whether a browser requests GraphiQL. A client that also accepts events gets the result of its operation. */
export function isGraphiqlPage(request: IncomingRequest): boolean {
  if (!isGraphql(request) || request.method !== 'GET') return false
  const accept = request.header('accept')
  return accept !== null && prefersHtml(accept) && !acceptsEvents(accept)
}
