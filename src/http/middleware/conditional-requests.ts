import type { Encoding } from './compression.ts'

/** Returns a strong ETag: each content encoding of the same content has a tag of its own. */
export function etagOf(tag: string, encoding: Encoding | null): string {
  return encoding === null ? `"${tag}"` : `"${tag}-${encoding}"`
}

/**
 * Returns whether a client has the content with this tag, in any content encoding.
 * @param ifNoneMatch compared weakly: an intermediate cache may have weakened the tag
 */
export function isHeld(tag: string, ifNoneMatch: string | null): boolean {
  if (ifNoneMatch === null) return false
  const tags = ifNoneMatch.split(',').map((each) => /^(?:W\/)?"(.*?)(?:-(?:br|gzip))?"$/.exec(each.trim())?.[1])
  return ifNoneMatch.trim() === '*' || tags.includes(tag)
}
