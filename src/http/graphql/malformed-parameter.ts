/** Parameters of a GraphQL request by GET. */
const names: readonly string[] = ['query', 'operationName', 'variables', 'extensions']

/**
 * Returns the name of the first GraphQL parameter in a target whose value is not percent-encoded UTF-8; null if there is none.
 * `URLSearchParams` would read its invalid bytes as U+FFFD, and leave a malformed percent sign as it is.
 */
export function malformedParameter(target: string): string | null {
  if (!target.includes('%')) return null
  const pairs = target.slice(target.indexOf('?') + 1).split('&')
  for (const pair of pairs) {
    const [sentName = '', ...values] = pair.split('=')
    const name = decoded(sentName)
    if (name !== null && names.includes(name) && values.some((value) => decoded(value) === null)) return name
  }
  return null
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
