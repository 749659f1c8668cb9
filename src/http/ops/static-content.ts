import { onlyRead } from '../../rest/handler.ts'
import { apiDocsContents } from './api-docs.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { Middleware } from '../middleware.ts'
import { CachedResponse } from '../cache/cached-response.ts'
import { graphiqlContents } from '../graphql/graphiql.ts'

/**
 * Static responses with their compressed bodies, by path: each is created on first use and then shared by all requests,
 * so that unused ones take no memory.
 */
const contents = new Map([...apiDocsContents, ...graphiqlContents].map(([path, make]) => [path, onceMade(make)]))

/** Serves the static pages and the contract; null if the path is none of theirs. */
export function staticContent({
  method,
  path,
}: Pick<IncomingRequest, 'method' | 'path'>): Promise<CachedResponse> | null {
  const content = contents.get(path)
  return content === undefined ? null : answerRead(method, content)
}

/** Responds to GET and HEAD with a content, and refuses other methods as on every read-only path. */
export function answerRead(method: string, content: () => Promise<CachedResponse>): Promise<CachedResponse> {
  if (method === 'GET' || method === 'HEAD') return content()
  return onlyRead(method, () => Promise.reject(new TypeError(`${method} is not for reading`))).then(
    (answer) => new CachedResponse(answer),
  )
}

/** Returns whether a path has static content. */
export function isStaticContent({ path }: Pick<IncomingRequest, 'path'>): boolean {
  return contents.has(path)
}

/** Caches the result of an asynchronous function; a rejection is not cached. */
function onceMade<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    }))
}

/** Responds to the paths of the static pages and the contract. */
export function staticPages(): Middleware {
  return (exchange, next) => staticContent(exchange.request) ?? next(exchange)
}
