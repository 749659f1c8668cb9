/** Returns whether the query string of a target is percent-encoded UTF-8. */
export function hasEncodedQuery(target: string): boolean {
  const start = target.indexOf('?')
  return start === -1 || isPercentEncoded(target.slice(start + 1))
}

/**
 * Returns whether a query string, or the body of a form, is percent-encoded UTF-8. `URLSearchParams` would read invalid bytes as
 * U+FFFD, and leave a malformed percent sign as it is. It is decoded as a whole: each part that cannot be decoded would cost
 * an error of its own.
 */
export function isPercentEncoded(text: string): boolean {
  if (!text.includes('%')) return true
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
