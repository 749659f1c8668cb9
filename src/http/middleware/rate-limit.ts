import { LRUCache } from 'lru-cache'
import { RateLimiterCluster, RateLimiterClusterMaster, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { countedSenders } from '../../limits.ts'
import { Problem } from '../../rest/problem.ts'
import type { Middleware } from '../middleware.ts'
import { refuse } from '../refuse.ts'
import { headerList } from '../cache/encoded-response.ts'

/** Maximum time that a worker waits for a count from the primary process. */
const primaryTimeoutMs = 1_000

/** A quota of requests in a window of seconds. */
export interface RateLimit {
  readonly requests: number
  readonly seconds: number
  /** Whether the primary process counts for all workers, instead of each process for itself. */
  readonly isAcrossWorkers?: boolean
}

/** Rate limit headers of a response, and the refusal of a request that exceeds its sender's quota. */
interface Verdict {
  readonly headers: Readonly<Record<string, string>>
  readonly refusal?: Problem
}

/** Counts a request against its sender's quota. */
export type CountRequest = (sender: string) => Promise<Verdict>

/** Returns the stage that limits the rate of requests of each sender; null without a limit. Preflights are not counted. */
export function rateLimit(limit: RateLimit | null): Middleware | null {
  if (limit === null) return null
  const count = rateLimiter(limit)
  return (next) => async (exchange) => {
    const { request, sender } = exchange
    if (request.method === 'OPTIONS') return next(exchange)
    const { headers, refusal } = await count(sender)
    exchange.senderHeaders = exchange.senderHeaders.concat(headerList(headers))
    return refusal === undefined ? next(exchange) : refuse(request, refusal)
  }
}

/**
 * Returns a function that counts requests by sender, with the headers of the IETF draft on RateLimit header fields for
 * HTTP.
 * @param maxSenders maximum number of senders counted; beyond it the least recently seen one is evicted
 */
export function rateLimiter(limit: RateLimit, maxSenders = countedSenders): CountRequest {
  const quota = { points: limit.requests, duration: limit.seconds }
  const own = new RateLimiterMemory(quota)
  const ofAllWorkers =
    limit.isAcrossWorkers === true ? new RateLimiterCluster({ ...quota, timeoutMs: primaryTimeoutMs }) : null
  // The limiter itself stores a count and a timer for each sender until the window ends, without a limit.
  const counted = new LRUCache<string, true>({
    max: maxSenders,
    dispose: (_, sender) => {
      for (const limiter of [own, ofAllWorkers]) void limiter?.delete(sender).catch(() => undefined)
    },
  })
  const policy = { 'ratelimit-policy': `"default";q=${limit.requests};w=${limit.seconds}` }
  return async (sender) => {
    if (counted.get(sender) === undefined) counted.set(sender, true)
    const { state, refused } = await (ofAllWorkers === null
      ? consume(own, sender)
      : consumeInPrimary(ofAllWorkers, own, sender))
    // The limiter counts by the machine's clock, which may be set back; the timer that ends the window does not.
    const seconds = Math.min(limit.seconds, Math.ceil(state.msBeforeNext / 1000))
    const headers = { ...policy, ratelimit: `"default";r=${Math.max(0, state.remainingPoints)};t=${seconds}` }
    if (!refused) return { headers }
    const detail = `More than ${limit.requests} requests in ${limit.seconds} s: the next is answered in ${seconds} s.`
    return { headers: { ...headers, 'retry-after': String(seconds) }, refusal: new Problem('RATE_LIMITED', detail) }
  }
}

/** Starts counting, in the primary process, the requests of all its workers. */
export function countForAllWorkers(): void {
  new RateLimiterClusterMaster()
}

interface Count {
  readonly state: RateLimiterRes
  readonly refused: boolean
}

async function consume(limiter: RateLimiterMemory | RateLimiterCluster, sender: string): Promise<Count> {
  try {
    return { state: await limiter.consume(sender), refused: false }
  } catch (rejected) {
    if (rejected instanceof RateLimiterRes) return { state: rejected, refused: true }
    throw rejected
  }
}

/** Counts in the primary process; while that does not respond, this process counts for itself. */
async function consumeInPrimary(
  ofAllWorkers: RateLimiterCluster,
  own: RateLimiterMemory,
  sender: string,
): Promise<Count> {
  return consume(ofAllWorkers, sender).catch(() => consume(own, sender))
}
