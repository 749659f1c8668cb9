import type { Answer } from '../../rest/problem.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import type { DataOrigin } from './encoded-response.ts'

/** Seconds for which an edge may answer by itself when the gateway answers with an error, or not at all. */
const staleIfErrorSeconds = 60
/** Seconds for which an edge may still serve an answer while it asks for a new one. */
const revalidateSeconds = 1
/** Edges count whole seconds (RFC 9111, section 1.2.2), so that theirs may last a second longer. */
const roundingSeconds = 1

/** Lets the caches between the gateway and its clients keep an answer, if it was made from data. */
export type LetEdgesKeep = (request: IncomingRequest, answer: Answer, origin: DataOrigin) => Answer

/**
 * Creates the rule by which edges keep responses: those from data that GET requests get, without errors. With API keys
 * they are marked as private, because an edge does not check the key.
 * @param seconds for which an edge answers by itself, its rounding and the time of a revalidation included
 * @returns null where that is 0: every answer stays as it is
 * @see RFC 9111 (s-maxage), RFC 5861 (stale-while-revalidate, stale-if-error)
 */
export function edgeRule(seconds: number, isOpen: boolean): LetEdgesKeep | null {
  if (seconds === 0) return null
  const freshSeconds = Math.max(1, seconds - revalidateSeconds - roundingSeconds)
  const staleSeconds = seconds > freshSeconds + roundingSeconds ? revalidateSeconds : 0
  const shared = `public, max-age=0, s-maxage=${freshSeconds}, stale-while-revalidate=${staleSeconds}, stale-if-error=${staleIfErrorSeconds}`
  const cacheControl = isOpen ? shared : 'private, no-cache'
  return (request, answer, origin) =>
    origin.tags !== null && isUnmarkedResult(request, answer) ? { ...answer, cacheControl, isForEdges: isOpen } : answer
}

/** Returns whether a response is a result of a GET request that does not say itself how long it may be kept. */
function isUnmarkedResult(request: IncomingRequest, { status, cacheControl }: Answer): boolean {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  return isRead && status === 200 && cacheControl === undefined
}
