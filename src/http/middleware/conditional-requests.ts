import type { Encoding } from './compression.ts'

/** A strong ETag: other bytes have another one, so that a packed content has its own. */
export function etagOf(tag: string, encoding: Encoding | null): string {
  return encoding === null ? `"${tag}"` : `"${tag}-${encoding}"`
}

/**
 * Whether a client has the content with this tag, however it is packed.
 * @param ifNoneMatch compared weakly: a cache on the way may have weakened the tag
 */
export function isHeld(tag: string, ifNoneMatch: string | null): boolean {
  if (ifNoneMatch === null) return false
  const tags = ifNoneMatch.split(',').map((each) => /^(?:W\/)?"(.*?)(?:-(?:br|gzip))?"$/.exec(each.trim())?.[1])
  return ifNoneMatch.trim() === '*' || tags.includes(tag)
}
