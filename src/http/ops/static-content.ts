import { answerUnread } from '../../rest/handler.ts'
import { apiDocsContents } from './api-docs.ts'
import type { PathHandler } from './own-paths.ts'
import { EncodedResponse } from '../cache/encoded-response.ts'
import { graphiqlContents } from '../graphql/graphiql.ts'

/**
 * Handlers of the static pages and the contract. Each response and its compressed bodies are created on first use and
 * then shared by all requests, so that unused ones take no memory.
 */
export const staticPages: ReadonlyMap<string, PathHandler> = servedOnce([...apiDocsContents, ...graphiqlContents])

/** Returns handlers of contents, by path. */
export function servedOnce(
  contents: Iterable<readonly [path: string, make: () => Promise<EncodedResponse>]>,
): ReadonlyMap<string, PathHandler> {
  return new Map(
    Array.from(contents, ([path, make]) => {
      const content = onceMade(make)
      return [path, ({ method }) => answerRead(method, content)]
    }),
  )
}

/** Responds to GET and HEAD with a content, and refuses other methods as on every read-only path. */
export function answerRead(method: string, content: () => Promise<EncodedResponse>): Promise<EncodedResponse> {
  const unread = answerUnread(method)
  return unread === null ? content() : Promise.resolve(new EncodedResponse(unread))
}

/** Caches the result of an asynchronous function; a rejection is not cached. */
export function onceMade<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    }))
}
