/** A request as the middleware sees it, received over a socket or through the Fetch API. */
export interface IncomingRequest {
  readonly method: string
  /** Path as sent by the client, percent-encoded. */
  readonly path: string
  readonly query: URLSearchParams
  /** Path and query as sent by the client. */
  readonly target: string
  readonly headerCount: number
  /** Violation of HTTP/1.1 that Node's parser accepts; null if there is none. */
  readonly flaw: string | null
  header(name: string): string | null
  /** Returns all headers by name. */
  headerRecord(): Record<string, string>
  /** Address of the peer; null if there is no socket. */
  readonly remoteAddress: string | null
}
