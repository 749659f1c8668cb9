/** A request as the middleware sees it, received over a socket or through the Fetch API. */
export interface IncomingRequest {
  readonly method: string
  /** Path as sent by the client, percent-encoded. */
  readonly path: string
  readonly query: URLSearchParams
  /** Path and query as sent by the client. */
  readonly target: string
  /** Such as `1.1`. */
  readonly httpVersion: string
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: readonly string[]
  header(name: string): string | null
  /** Returns all headers by name. */
  headerRecord(): Record<string, string>
  /** Address of the peer; null if there is no socket. */
  readonly remoteAddress: string | null
}
