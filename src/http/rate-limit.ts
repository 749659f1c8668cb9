import {
  type RateLimiterAbstract,
  RateLimiterCluster,
  RateLimiterClusterMaster,
  RateLimiterMemory,
  RateLimiterRes,
} from 'rate-limiter-flexible'
import { problem } from '../rest/problem.ts'
import { admitted, type Inbound, type Verdict } from './exchange.ts'

/** So many requests in so many seconds. */
export interface RateLimit {
  readonly requests: number
  readonly seconds: number
  /** Counted by the primary for all workers, not by this process for itself. */
  readonly isShared?: boolean
}

/** Counts a request against its sender's quota. */
export type CountRequest = (senderOf: () => string) => Verdict | Promise<Verdict>

/** Limits each sender's requests; without a limit, none. Headers as in the IETF's draft on RateLimit headers. */
export function rateLimiter(limit: RateLimit | null): CountRequest {
  if (limit === null) return () => admitted
  const quota = { points: limit.requests, duration: limit.seconds }
  const limiter = limit.isShared === true ? new RateLimiterCluster(quota) : new RateLimiterMemory(quota)
  const policy = { 'ratelimit-policy': `"default";q=${limit.requests};w=${limit.seconds}` }
  return async (senderOf) => {
    const { state, refused } = await consume(limiter, senderOf())
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

/**
 * The address of a request's sender. Each trusted proxy has appended the address it was called from to
 * X-Forwarded-For: what stands before those may be invented.
 */
export function senderOf(request: Inbound, trustedProxies: number): string {
  const forwarded = (request.header('x-forwarded-for') ?? '').split(',').map((address) => address.trim())
  const named = trustedProxies === 0 ? undefined : forwarded.at(-trustedProxies)
  return named === undefined || named === '' ? (request.remoteAddress ?? 'unknown') : named
}
