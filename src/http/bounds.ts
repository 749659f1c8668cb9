import { problem, retryLater } from '../rest/problem.ts'
import type { Answer, Inbound } from './exchange.ts'

/** What a stranger may make the gateway hold or wait for. */
export interface Bounds {
  readonly targetBytes: number
  readonly bodyBytes: number
  readonly headerBytes: number
  readonly headers: number
  readonly headersSeconds: number
  readonly requestSeconds: number
  readonly answerSeconds: number
  readonly silentSeconds: number
  readonly idleSeconds: number
}

/** Bounds where none are configured, each with its reason. */
export const defaultBounds: Bounds = {
  // Path and query: what RFC 9110 asks every server to take, in round figures. A longer query goes into a body.
  targetBytes: 8_192,
  // A document and its variables: some thirty times GraphiQL's introspection, and little enough to hold for many at once.
  bodyBytes: 65_536,
  // All headers with the request line: above the target's bound, so that a target is refused by its own.
  headerBytes: 16_384,
  // Browsers behind several proxies send about 40.
  headers: 100,
  // Headers fit a few packets, so only an attacker who holds connections open is slower.
  headersSeconds: 10,
  // The largest body on the slowest mobile network takes less.
  requestSeconds: 30,
  // From a whole request to its answer: a hundred times what the dearest takes alone, and less than most clients wait.
  answerSeconds: 10,
  // A connection on which nothing moves, in either direction, while a request runs: its other end is gone.
  silentSeconds: 60,
  // Load balancers keep connections for 60 s: the one who closes first must be they, or requests get lost.
  idleSeconds: 65,
}

/** The refusal of a request whose target or headers are out of bounds. */
export function outOfBounds({ target, headerCount }: Inbound, bounds: Bounds): Answer | undefined {
  const targetBytes = Buffer.byteLength(target)
  if (targetBytes > bounds.targetBytes) {
    const detail = `Path and query have ${targetBytes} bytes, more than ${bounds.targetBytes}.`
    return problem('TARGET_TOO_LONG', detail)
  }
  if (headerCount > bounds.headers) {
    return problem('HEADERS_TOO_LARGE', `There are ${headerCount} headers, more than ${bounds.headers}.`)
  }
  return undefined
}

/** The refusal of a request whose body is out of bounds. */
export function tooLarge({ bodyBytes }: Bounds): Answer {
  return problem('BODY_TOO_LARGE', `The body has more than ${bodyBytes} bytes.`)
}

/** What is answered where the answer itself is too late. */
export function lateAnswer(seconds: number): Answer {
  return retryLater('DEADLINE_EXCEEDED', `The answer took more than ${seconds} s. Ask for less, or again later.`)
}

/**
 * The whole of a body; null as soon as it is out of bounds, by what it says of its length or by what came.
 * @param declared the header Content-Length
 */
export async function readBody(
  chunks: AsyncIterable<Uint8Array>,
  declared: string | null,
  { bodyBytes }: Bounds,
): Promise<Buffer<ArrayBuffer> | null> {
  if (Number(declared) > bodyBytes) return null
  const read: Uint8Array[] = []
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.length
    if (length > bodyBytes) return null
    read.push(chunk)
  }
  return Buffer.concat(read)
}
