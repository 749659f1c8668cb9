import { onlyRead } from '../../rest/handler.ts'
import { apiDocsContents } from './api-docs.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { Middleware } from '../middleware.ts'
import { CachedResponse } from '../cache/cached-response.ts'
import { graphiqlContents } from '../graphql/graphiql.ts'

/**
 * What is the same for everyone, with its packed forms: made when it is first asked for, and shared by all answers from
 * then on. A gateway on which nobody looks at pages holds none of it.
 */
const contents = new Map([...apiDocsContents, ...graphiqlContents].map(([path, make]) => [path, onceMade(make)]))

/** Answers the pages for people and the contract; null where the path is none of them. */
export function staticContent({
  method,
  path,
}: Pick<IncomingRequest, 'method' | 'path'>): Promise<CachedResponse> | null {
  const content = contents.get(path)
  return content === undefined ? null : answerRead(method, content)
}

/** Answers GET and HEAD with a content, and other methods as every path does that is only read. */
export function answerRead(method: string, content: () => Promise<CachedResponse>): Promise<CachedResponse> {
  if (method === 'GET' || method === 'HEAD') return content()
  return onlyRead(method, () => Promise.reject(new TypeError(`${method} is not for reading`))).then(
    (answer) => new CachedResponse(answer),
  )
}

export function isStaticContent({ path }: Pick<IncomingRequest, 'path'>): boolean {
  return contents.has(path)
}

/** Makes something once; what failed is tried again. */
function onceMade<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    }))
}

/** Responds with the pages and the contract that are the same for everyone. */
export function staticPages(): Middleware {
  return (exchange, next) => staticContent(exchange.request) ?? next(exchange)
}
