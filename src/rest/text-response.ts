/** A response as text, before it is encoded as bytes. */
export interface TextResponse {
  readonly status: number
  /** With a `cache-control` among them, the response has no ETag and no Vary, and `cacheControl` is without effect. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Value of Cache-Control, instead of `no-cache`, beside ETag and Vary. */
  readonly cacheControl?: CacheControl
}

/** Caches that may store a response: all, or only the client's. */
export type CacheScope = 'public' | 'private'

/**
 * A value of Cache-Control (RFC 9111, section 5.2.2): caches must validate the response before each reuse, or may reuse it without,
 * by the directives that follow the scope.
 */
export type CacheControl = 'no-cache' | 'private, no-cache' | `${CacheScope}, max-age=${string}`
