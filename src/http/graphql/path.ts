import { prefersHtml } from '../middleware/content-negotiation.ts'
import type { IncomingRequest } from '../incoming-request.ts'

export const graphqlPath = '/graphql'

/** Returns whether a request is for the GraphQL endpoint. */
export function isGraphql({ path }: Pick<IncomingRequest, 'path'>): boolean {
  return path === graphqlPath
}

/** Returns whether a browser requests GraphiQL. */
export function isGraphiqlPage(request: IncomingRequest): boolean {
  return isGraphql(request) && request.method === 'GET' && prefersHtml(request.header('accept'))
}
