import type { Answer } from '../rest/problem.ts'

export type { Answer }

/** A request as the concerns of this folder see it, whether it came by a socket or by fetch. */
export interface IncomingRequest {
  readonly method: string
  /** As it was sent, percent-encoded. */
  readonly path: string
  readonly query: URLSearchParams
  /** Path and query, as they were sent. */
  readonly target: string
  readonly headerCount: number
  /** What HTTP/1.1 forbids of it and Node lets pass; null where nothing is wrong. */
  readonly flaw: string | null
  header(name: string): string | null
  headers(): Record<string, string>
  /** Address of the socket's other end; null where there is no socket. */
  readonly remoteAddress: string | null
}

/** What a concern says to a request: headers for its answer, and the answer itself where it goes no further. */
export interface Verdict {
  readonly headers: Readonly<Record<string, string>>
  readonly refusal?: Answer
}

/** Says nothing to a request, which goes on. */
export const admitted: Verdict = { headers: {} }
