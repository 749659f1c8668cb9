import { createHash } from 'node:crypto'
import type { Answer } from './exchange.ts'

/** Adds the content's own strong ETag, and answers 304 where the client has it. */
export function tagged(whole: Answer, ifNoneMatch: string | null): Answer {
  if (whole.status === 204) return whole
  const etag = `"${createHash('sha256').update(whole.body).digest('base64url').slice(0, 27)}"`
  const headers = { ...whole.headers, etag, 'cache-control': 'no-cache' }
  if (whole.status !== 200 || !matches(ifNoneMatch, etag)) return { ...whole, headers }
  const { 'content-type': _, ...kept } = headers as Record<string, string>
  return { status: 304, headers: kept, body: '' }
}

/** If-None-Match compares weakly: a cache on the way may have weakened the tag. */
function matches(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes('*') || tags.includes(etag)
}
