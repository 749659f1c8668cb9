import { prefersHtml } from './accept.ts'
import type { Inbound } from './exchange.ts'

export const graphqlPath = '/graphql'

export function isGraphql({ path }: Pick<Inbound, 'path'>): boolean {
  return path === graphqlPath
}

/** Whether a browser asks for GraphiQL. */
export function isGraphiqlPage(request: Inbound): boolean {
  return isGraphql(request) && request.method === 'GET' && prefersHtml(request.header('accept'))
}
