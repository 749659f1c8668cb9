import { readFile } from 'node:fs/promises'
import { responseByMethod } from '../../rest/handler.ts'
import type { CacheControl } from '../../rest/text-response.ts'
import type { PathHandler } from '../ops/own-paths.ts'
import { EncodedResponse } from '../cache/encoded-response.ts'

/** Functions that create responses, by path. */
export type Contents = Iterable<readonly [path: string, make: () => Promise<EncodedResponse>]>

/** Folders with the compiled files of the pages; null for a page that is not served. */
export interface PageFolders {
  readonly graphiql: string | null
  readonly explorer: string | null
}

/**
 * Returns handlers of contents, by path. Each response and its compressed bodies are created on first use and then
 * shared by all requests, so that unused ones take no memory.
 */
export function servedOnce(contents: Contents): ReadonlyMap<string, PathHandler> {
  return new Map(
    Array.from(contents, ([path, make]) => {
      const content = onceMade(make)
      return [path, ({ method }) => answerRead(method, content)]
    }),
  )
}

/**
 * Returns a script or style sheet that was compressed when it was prepared.
 * @param file path; its compressed versions have the same path with .br and .gz appended
 */
export async function preparedFile(file: string, cacheControl?: CacheControl): Promise<EncodedResponse> {
  const [body, br, gzip] = await Promise.all([readFile(file), readFile(`${file}.br`), readFile(`${file}.gz`)])
  const type = file.endsWith('.css') ? 'text/css' : 'text/javascript'
  const response = { status: 200, headers: { 'content-type': `${type}; charset=utf-8` }, body }
  const compressed = { br: Promise.resolve(br), gzip: Promise.resolve(gzip) }
  return new EncodedResponse(
    cacheControl === undefined ? response : { ...response, cacheControl },
    undefined,
    compressed,
  )
}

/** Responds to GET and HEAD with a content, and refuses other methods as on every read-only path. */
export function answerRead(method: string, content: () => Promise<EncodedResponse>): Promise<EncodedResponse> {
  const refusal = responseByMethod(method)
  return refusal === null ? content() : Promise.resolve(new EncodedResponse(refusal))
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
