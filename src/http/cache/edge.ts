import type { DataOrigin } from '../../graphql/execution/context.ts'
import type { CacheControl, TextResponse } from '../../rest/text-response.ts'
import type { IncomingRequest } from '../incoming-request.ts'

/** Seconds for which an edge cache may serve a stale response if the gateway fails or does not respond. */
const staleIfErrorSeconds = 60
/** Seconds for which an edge may serve a stale response while it requests a new one. */
const revalidateSeconds = 1
/** Edges count whole seconds (RFC 9111, section 1.2.2), so that a response may stay fresh for a second longer. */
const roundingSeconds = 1

/** Permits edges, the caches between gateway and clients, to store a response that was produced from data. */
export type EdgePolicy = (request: IncomingRequest, text: TextResponse, origin: Readonly<DataOrigin>) => TextResponse

/**
 * Creates the rule for responses that edges may store: results of GET and HEAD requests that contain data and no
 * errors. With API keys they are marked as private, because an edge does not check the key.
 * @param seconds for which an edge may serve a stored response, including its rounding and revalidation
 * @returns null if that is 0: responses remain unchanged
 * @see RFC 9111 (s-maxage), RFC 5861 (stale-while-revalidate, stale-if-error)
 */
export function createEdgePolicy(seconds: number, isOpen: boolean): EdgePolicy | null {
  if (seconds === 0) return null
  const freshSeconds = Math.max(1, seconds - revalidateSeconds - roundingSeconds)
  const staleSeconds = seconds > freshSeconds + roundingSeconds ? revalidateSeconds : 0
  const cacheControl: CacheControl = isOpen
    ? `public, max-age=0, s-maxage=${freshSeconds}, stale-while-revalidate=${staleSeconds}, stale-if-error=${staleIfErrorSeconds}`
    : 'private, no-cache'
  return (request, text, origin) =>
    origin.isCacheable && isReadWithoutCacheControl(request, text) ? { ...text, cacheControl } : text
}

/** Returns whether a response is the result of a GET or HEAD request, without a Cache-Control of its own. */
function isReadWithoutCacheControl(request: IncomingRequest, { status, cacheControl }: TextResponse): boolean {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  return isRead && status === 200 && cacheControl === undefined
}
