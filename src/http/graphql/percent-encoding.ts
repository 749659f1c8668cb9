/**
 * Returns whether the query string of a target is percent-encoded UTF-8. `URLSearchParams` would read invalid bytes as U+FFFD, and
 * leave a malformed percent sign as it is. It is decoded as a whole: each part that cannot be decoded would cost an error of its own.
 */
export function isPercentEncoded(target: string): boolean {
  const start = target.indexOf('?')
  if (start === -1 || !target.includes('%')) return true
  try {
    decodeURIComponent(target.slice(start + 1))
    return true
  } catch {
    return false
  }
}
