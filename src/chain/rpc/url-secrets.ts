/** Maximum length of a node's error text in a message. */
const maxCharacters = 200

/**
 * Returns the parts of a node's URL that may be an API key or password: credentials, long segments of the path, and
 * values of the query.
 */
export function secretsOfUrl(url: string): string[] {
  const { username, password, pathname, search, searchParams } = new URL(url)
  const segments = pathname.split('/').filter((segment) => segment.length >= 16 || /^(?=.*\d).{8,}$/.test(segment))
  const all = [url, username, password, pathname.slice(1), search.slice(1), ...segments, ...searchParams.values()]
  return [...new Set(all.flatMap((secret) => [secret, decodedOr(secret)]))].filter((secret) => secret.length >= 8)
}

/** Returns the first line of a text, without any URLs and without the secrets of this URL. */
export function withoutSecrets(text: string, url: string): string {
  const masked = secretsOfUrl(url)
    .sort((a, b) => b.length - a.length)
    .reduce((safe, secret) => safe.replaceAll(secret, '[hidden]'), text)
  const [line = ''] = masked.trim().split('\n')
  const safe = line.replace(/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi, '[url]')
  return safe.length > maxCharacters ? `${safe.slice(0, maxCharacters)}…` : safe
}

function decodedOr(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
