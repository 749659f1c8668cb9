import { createHash, timingSafeEqual } from 'node:crypto'
import { problem } from '../../rest/problem.ts'
import type { IncomingRequest, Verdict } from '../request-context.ts'

/** Who asks: the digest of the key given, or null where none was. */
export type CheckApiKey = (request: IncomingRequest) => Verdict & { readonly keyDigest: string | null }

/** Lets only requests with one of these keys pass; with no keys, all. Keys are kept and compared as digests. */
export function createApiKeyCheck(keys: readonly string[]): CheckApiKey {
  const known = keys.map(digest)
  return (request) => {
    if (known.length === 0) return { headers: {}, keyDigest: null }
    const given = /^Bearer +(\S+)$/i.exec(request.header('authorization') ?? '')?.[1]
    if (given === undefined) return refuse('Send the header Authorization: Bearer with an API key.')
    const candidate = digest(given)
    // All are compared, so that the time taken tells nothing of which one came near.
    const matching = known.filter((key) => timingSafeEqual(key, candidate))
    return matching.length === 0
      ? refuse('The API key is not one of those that are accepted.')
      : { headers: {}, keyDigest: candidate.toString('hex') }
  }
}

function refuse(detail: string): Verdict & { keyDigest: null } {
  return { headers: { 'www-authenticate': 'Bearer' }, refusal: problem('UNAUTHENTICATED', detail), keyDigest: null }
}

function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
