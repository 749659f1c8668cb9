/** A request as the middleware sees it, whether it came over a socket or by fetch. */
export interface IncomingRequest {
  readonly method: string
  /** As it was sent, percent-encoded. */
  readonly path: string
  readonly query: URLSearchParams
  /** Path and query, as they were sent. */
  readonly target: string
  readonly headerCount: number
  /** A violation of HTTP/1.1 that Node's parser accepts; null where there is none. */
  readonly flaw: string | null
  header(name: string): string | null
  headers(): Record<string, string>
  /** Address of the socket's other end; null where there is no socket. */
  readonly remoteAddress: string | null
}
