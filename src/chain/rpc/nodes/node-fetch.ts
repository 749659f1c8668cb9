/** Maximum size that is read of the body of an HTTP error. */
const maxErrorBytes = 65_536

/**
 * Maximum number of characters of an error that are examined: patterns of several words take quadratic time in a text that repeats
 * the first one, and an answer may have megabytes.
 */
const maxErrorCharacters = 2_000

/** HTTP statuses of a node that has moved. After the first two, fetch itself would send a GET in place of a POST. */
const redirects: readonly number[] = [301, 302, 307, 308]
const maxRedirects = 5

/** Sends a request, and again where the node has moved to; without credentials where that is another host. */
export async function fetchMoved(
  at: Parameters<typeof fetch>[0],
  init: RequestInit,
  left = maxRedirects,
): Promise<Response> {
  const response = await fetch(at, { ...init, redirect: 'manual' })
  const { status, url, body } = response
  const location = redirects.includes(status) ? response.headers.get('location') : null
  if (location === null || left === 0 || !URL.canParse(location, url)) return response
  await body?.cancel()
  const to = new URL(location, url)
  const headers = new Headers(init.headers)
  if (to.origin !== new URL(url).origin) headers.delete('authorization')
  return fetchMoved(to, { ...init, headers }, left - 1)
}

/** Reads the start of a response's body, and cancels the rest. */
export async function withShortBody({ body, status, statusText, headers }: Response): Promise<Response> {
  const read: Uint8Array[] = []
  const reader = body?.getReader()
  for (let bytes = 0; reader !== undefined && bytes < maxErrorBytes;) {
    // The status is still useful where the body is incomplete or times out.
    const { value } = await reader.read().catch(() => ({ value: undefined }))
    if (value === undefined) break
    read.push(value)
    bytes += value.byteLength
  }
  await reader?.cancel().catch(() => undefined)
  // Some statuses, such as 304, permit no body, not even an empty one.
  const bytes = read.length === 0 ? null : Buffer.concat(read).subarray(0, maxErrorBytes)
  return new Response(bytes, { status, statusText, headers })
}

/**
 * Reads the pause that a node requests.
 * @returns milliseconds; null without a valid Retry-After
 * @see RFC 9110, section 10.2.3, Retry-After: seconds, or a date
 */
export function readRetryAfter(headers: Headers): number | null {
  const text = headers.get('retry-after')
  if (text === null || text.trim() === '') return null
  const seconds = Number(text)
  const milliseconds = Number.isNaN(seconds)
    ? Date.parse(text) - Date.parse(headers.get('date') ?? '')
    : seconds * 1_000
  return milliseconds > 0 ? milliseconds : null
}

/** Returns the start of an error's text in a node's answer, whose form is not verified. */
export function errorText(message: unknown): string {
  const text: unknown = typeof message === 'string' ? message : JSON.stringify(message)
  return typeof text === 'string' ? text.slice(0, maxErrorCharacters) : ''
}
