import { LRUCache } from 'lru-cache'
import {
  type RateLimiterAbstract,
  RateLimiterCluster,
  RateLimiterClusterMaster,
  RateLimiterMemory,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import { countedSenders } from '../../limits.ts'
import { problem } from '../../rest/problem.ts'
import { admitted, type Verdict } from '../request-context.ts'

/** So many requests in so many seconds. */
export interface RateLimit {
  readonly requests: number
  readonly seconds: number
  /** Counted by the primary for all workers, not by this process for itself. */
  readonly isShared?: boolean
}

/** Counts a request against its sender's quota. */
export type CountRequest = (senderOf: () => string) => Verdict | Promise<Verdict>

/**
 * Limits each sender's requests; without a limit, none. Headers as in the IETF's draft on RateLimit headers.
 * @param mostSenders whose requests are counted; beyond that the one that has not asked for the longest is forgotten
 */
export function rateLimiter(limit: RateLimit | null, mostSenders = countedSenders): CountRequest {
  if (limit === null) return () => admitted
  const quota = { points: limit.requests, duration: limit.seconds }
  const limiter = limit.isShared === true ? new RateLimiterCluster(quota) : new RateLimiterMemory(quota)
  // The limiter keeps a count and a timer of each sender until the time of its quota is over, however many there are.
  const counted = new LRUCache<string, true>({
    max: mostSenders,
    dispose: (_, sender) => void limiter.delete(sender).catch(() => undefined),
  })
  const policy = { 'ratelimit-policy': `"default";q=${limit.requests};w=${limit.seconds}` }
  return async (senderOf) => {
    const sender = senderOf()
    if (counted.get(sender) === undefined) counted.set(sender, true)
    const { state, refused } = await consume(limiter, sender)
    const seconds = Math.ceil(state.msBeforeNext / 1000)
    const headers = { ...policy, ratelimit: `"default";r=${Math.max(0, state.remainingPoints)};t=${seconds}` }
    if (!refused) return { headers }
    const detail = `More than ${limit.requests} requests in ${limit.seconds} s: the next is answered in ${seconds} s.`
    return { headers: { ...headers, 'retry-after': String(seconds) }, refusal: problem('RATE_LIMITED', detail) }
  }
}

/** Has this process, the primary, count the requests that all its workers get. */
export function countForAllWorkers(): void {
  new RateLimiterClusterMaster()
}

async function consume(
  limiter: RateLimiterAbstract,
  sender: string,
): Promise<{ state: RateLimiterRes; refused: boolean }> {
  try {
    return { state: await limiter.consume(sender), refused: false }
  } catch (rejected) {
    if (rejected instanceof RateLimiterRes) return { state: rejected, refused: true }
    throw rejected
  }
}
