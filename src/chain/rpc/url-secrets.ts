/** Maximum length of a node's error text in a message. */
const maxCharacters = 200

/** Minimum length of a secret, and of the beginning of one that is hidden: a text may be cut within a secret. */
const minCharacters = 8

/**
 * Returns the parts of a node's URL that may be an API key or password: credentials, long segments of the path, and
 * values of the query.
 */
export function secretsOfUrl(url: string): string[] {
  const { pathname, search } = new URL(url)
  return longEnough([url, pathname.slice(1), search.slice(1), ...keysOfUrl(url)])
}

/** Returns the first line of a text, without any URLs and without the secrets of this URL and their beginnings. */
export function withoutSecrets(text: string, url: string): string {
  const whole = secretsOfUrl(url).sort((a, b) => b.length - a.length)
  const masked = keysOfUrl(url).reduce(
    hideBeginnings,
    whole.reduce((safe, secret) => safe.replaceAll(secret, '[hidden]'), text),
  )
  const [line = ''] = masked.trim().split('\n')
  const safe = line.replace(/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi, '[url]')
  return safe.length > maxCharacters ? `${safe.slice(0, maxCharacters)}…` : safe
}

function keysOfUrl(url: string): string[] {
  const { username, password, pathname, searchParams } = new URL(url)
  const segments = pathname.split('/').filter((segment) => segment.length >= 16 || /^(?=.*\d).{8,}$/.test(segment))
  return longEnough([username, password, ...segments, ...searchParams.values()])
}

function longEnough(secrets: readonly string[]): string[] {
  const all = secrets.flatMap((secret) => [secret, decodedOr(secret)])
  return [...new Set(all)].filter((secret) => secret.length >= minCharacters)
}

/** Hides each place at which a text has the beginning of a secret, as far as it has the secret. */
function hideBeginnings(text: string, secret: string): string {
  const beginning = secret.slice(0, minCharacters)
  const [first = '', ...rest] = text.split(beginning)
  const hidden = rest.map((after) => {
    let length = 0
    while (length < after.length && after[length] === secret[minCharacters + length]) length++
    return `[hidden]${after.slice(length)}`
  })
  return [first, ...hidden].join('')
}

function decodedOr(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
