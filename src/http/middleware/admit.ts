import type { HttpLimits } from '../../limits.ts'
import { outOfBounds } from './request-size.ts'
import { admitted, type IncomingRequest, type Verdict } from '../request-context.ts'
import { isStaticContent } from '../ops/static-content.ts'
import { isGraphiqlPage } from '../graphql/path.ts'
import { isProbe } from '../ops/health.ts'
import { createApiKeyCheck } from './api-key.ts'
import { type RateLimit, rateLimiter } from './rate-limit.ts'
import { senderOf } from '../sender.ts'

export interface AdmitOptions {
  readonly bounds: HttpLimits
  /** None: open to all. */
  readonly apiKeys: readonly string[]
  readonly rateLimit: RateLimit | null
  /** How many proxies stand before the gateway, each of which appends to X-Forwarded-For. */
  readonly trustedProxies: number
}

/** Decides whether a request is answered: by its size, its API key and its sender's rate limit, in this order. */
export interface Admit {
  (request: IncomingRequest): Verdict | Promise<Verdict>
  /** The digest of a request's API key, or else its sender's address. */
  senderIn(request: IncomingRequest): string
}

export function createAdmit({ bounds, apiKeys, rateLimit, trustedProxies }: AdmitOptions): Admit {
  const checkKey = createApiKeyCheck(apiKeys)
  const countRequest = rateLimiter(rateLimit)

  function admit(request: IncomingRequest): Verdict | Promise<Verdict> {
    const refusal = outOfBounds(request, bounds)
    if (refusal !== undefined) return { headers: {}, refusal }
    if (isProbe(request)) return admitted
    // A preflight can't carry a key.
    if (request.method === 'OPTIONS') return admitted
    // The pages for people and the contract hold no data, so that they need no key.
    if (isGraphiqlPage(request) || isStaticContent(request))
      return countRequest(() => senderOf(request, trustedProxies))
    const { keyDigest, ...key } = checkKey(request)
    if (key.refusal !== undefined) return key
    return countRequest(() => keyDigest ?? senderOf(request, trustedProxies))
  }

  function senderIn(request: IncomingRequest): string {
    return checkKey(request).keyDigest ?? senderOf(request, trustedProxies)
  }

  return Object.assign(admit, { senderIn })
}
