import type { Bounds } from '../http-bounds.ts'
import { outOfBounds } from './bounds.ts'
import { admitted, type Inbound, type Verdict } from './exchange.ts'
import { isFixedContent } from './fixed-content.ts'
import { isGraphiqlPage } from './graphql-path.ts'
import { isProbe } from './health.ts'
import { keyCheck } from './keys.ts'
import { type RateLimit, rateLimiter } from './rate-limit.ts'
import { senderOf } from './sender.ts'

export interface AdmitOptions {
  readonly bounds: Bounds
  /** None: open to all. */
  readonly apiKeys: readonly string[]
  readonly rateLimit: RateLimit | null
  /** How many proxies stand before the gateway, each of which appends to X-Forwarded-For. */
  readonly trustedProxies: number
}

/** Decides whether a request is answered: by its size, its API key and its sender's rate limit, in this order. */
export interface Admit {
  (request: Inbound): Verdict | Promise<Verdict>
  /** The digest of a request's API key, or else its sender's address. */
  senderIn(request: Inbound): string
}

export function createAdmit({ bounds, apiKeys, rateLimit, trustedProxies }: AdmitOptions): Admit {
  const checkKey = keyCheck(apiKeys)
  const countRequest = rateLimiter(rateLimit)

  function admit(request: Inbound): Verdict | Promise<Verdict> {
    const refusal = outOfBounds(request, bounds)
    if (refusal !== undefined) return { headers: {}, refusal }
    if (isProbe(request)) return admitted
    // A preflight can't carry a key.
    if (request.method === 'OPTIONS') return admitted
    // The pages for people and the contract hold no data, so that they need no key.
    if (isGraphiqlPage(request) || isFixedContent(request)) return countRequest(() => senderOf(request, trustedProxies))
    const { keyDigest, ...key } = checkKey(request)
    if (key.refusal !== undefined) return key
    return countRequest(() => keyDigest ?? senderOf(request, trustedProxies))
  }

  function senderIn(request: Inbound): string {
    return checkKey(request).keyDigest ?? senderOf(request, trustedProxies)
  }

  return Object.assign(admit, { senderIn })
}
