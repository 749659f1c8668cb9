/** A response as text, before it is encoded as bytes. */
export interface TextResponse {
  readonly status: number
  /** With a `cache-control` among them, the response has no ETag and no Vary, and `cacheControl` is without effect. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Value of Cache-Control, instead of `no-cache`, beside ETag and Vary. */
  readonly cacheControl?: string
  /** Whether edge caches may store the response and send it to other clients. */
  readonly isForEdges?: boolean
  /** Whether caches may reuse the response without validation, although clients may demand a newer data version. */
  readonly isReusable?: boolean
}
