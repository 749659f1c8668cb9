import { createHash } from 'node:crypto'
import type { Encoding } from './compression.ts'
import type { Answer } from './exchange.ts'

/**
 * Adds the content's own strong ETag, and answers 304 where the client has it; what says itself how it may be kept has
 * none, and neither has a failure of the gateway, which is of its moment.
 * @param encoding that the body is going to be packed with: other bytes have another tag
 */
export function tagged(whole: Answer, ifNoneMatch: string | null, encoding: Encoding | null): Answer {
  if (whole.status === 204 || 'cache-control' in whole.headers) return whole
  if (whole.status >= 500) return { ...whole, headers: { ...whole.headers, 'cache-control': 'no-store' } }
  const content = createHash('sha256').update(whole.body).digest('base64url').slice(0, 27)
  const etag = `"${content}${encoding === null ? '' : `-${encoding}`}"`
  const headers = { ...whole.headers, etag, 'cache-control': 'no-cache', vary: 'accept-encoding' }
  if (whole.status !== 200 || !matches(ifNoneMatch, content)) return { ...whole, headers }
  const { 'content-type': _, ...kept } = headers as Record<string, string>
  return { status: 304, headers: kept, body: '' }
}

/** If-None-Match compares weakly: a cache on the way may have weakened the tag. However it is packed, it is the same. */
function matches(ifNoneMatch: string | null, content: string): boolean {
  if (ifNoneMatch === null) return false
  const tags = ifNoneMatch.split(',').map((tag) => /^(?:W\/)?"(.*?)(?:-(?:br|gzip))?"$/.exec(tag.trim())?.[1])
  return ifNoneMatch.trim() === '*' || tags.includes(content)
}
