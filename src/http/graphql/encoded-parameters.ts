/** Names of the parameters of a GraphQL request. */
export const graphqlParameters: readonly string[] = ['query', 'operationName', 'variables', 'extensions']

/** Part of a request that encodes parameters: those of a GET, or of a POST with a form. */
export type EncodedPart = 'query string' | 'form'

/** Returns why the query string of a target is malformed; null if it is well-formed, or there is none. */
export function queryStringProblem(target: string): string | null {
  const start = target.indexOf('?')
  return start === -1 ? null : encodedProblem(target.slice(start + 1), 'query string')
}

/**
 * Returns why an encoded part is malformed: its bytes are not UTF-8, or it has a parameter twice, of which Yoga would read the
 * first. Null if it is well-formed.
 */
export function encodedProblem(encoded: string, part: EncodedPart): string | null {
  if (!isPercentEncoded(encoded)) return `The ${part} is not percent-encoded UTF-8.`
  const sent = new URLSearchParams(encoded)
  for (const name of graphqlParameters) {
    const times = sent.getAll(name).length
    if (times > 1) return `The parameter ${name} is given ${times} times.`
  }
  return null
}

/**
 * Returns whether a text is percent-encoded UTF-8. `URLSearchParams` would read invalid bytes as U+FFFD, and leave a malformed
 * percent sign as it is. It is decoded as a whole: each part that cannot be decoded would cost an error of its own.
 */
function isPercentEncoded(text: string): boolean {
  if (!text.includes('%')) return true
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
