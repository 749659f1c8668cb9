import { type Schema, text } from './schemas.ts'

/** Headers of a response, by name. */
export type Headers = Readonly<Record<string, Schema>>

const etag = '"GvMTLpTmVBWWV25tJ9tWZgCzJKe"'
const requestId = '3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57'

/** Headers of every response, except errors of the connection. */
export const contentHeaders: Headers = {
  ETag: { ...text('The strong tag of the content.', etag), pattern: '^"[^"]+"$' },
  'X-Request-Id': text('Id of the request in the logs: its own where that is a valid one.', requestId),
  'Cache-Control': {
    ...text('Never used without revalidation: request again with If-None-Match.', 'no-cache'),
    const: 'no-cache',
  },
}

/** Cache-Control if EDGE_SECONDS is set: edge caches may store a result, unless API keys are configured. */
const edgePattern = 'public, max-age=0, s-maxage=\\d+, stale-while-revalidate=\\d+, stale-if-error=60|private, no-cache'

/** Headers of results, which edge caches may store if EDGE_SECONDS is set. */
export const resultHeaders: Headers = {
  'Cache-Control': {
    ...text(
      'Never used by a client without revalidation: request again with If-None-Match. Caches in between may answer by themselves for some seconds, where that is configured.',
      'no-cache',
    ),
    pattern: `^(no-cache|${edgePattern})$`,
  },
}

/** Headers of responses about a moment in the past, which may never change. */
export const pastHeaders: Headers = {
  'Cache-Control': {
    ...text(
      'Never used without revalidation; but what can never change may be kept for a day, where API keys are configured by the client alone.',
      'no-cache',
    ),
    pattern: `^(no-cache|(public|private), max-age=86400|${edgePattern})$`,
  },
}

const dataVersion = '1842.7301934470216482113'

/**
 * Headers of responses with data; absent (except the age) without commit notifications, and before the first commit.
 */
export const dataHeaders: Headers = {
  'Data-Version': {
    ...text('A version that the content is not older than: the number of a commit, and a random nonce.', dataVersion),
    pattern: '^[1-9]\\d*\\.\\d+$',
  },
  'Data-Time': {
    ...text('Time of the newest fact at that version, in Unix seconds.', '1767207600'),
    pattern: '^\\d+$',
  },
  'Data-Age': {
    ...text('Whole seconds since the gateway last knew that it had received every commit.', '0'),
    pattern: '^\\d+$',
  },
}

/** Headers if a rate limit is configured. */
export const rateLimitHeaders: Headers = {
  RateLimit: text('How many requests are left, and in how many seconds there are more again.', '"default";r=99;t=60'),
  'RateLimit-Policy': text('How many requests a sender has in how many seconds.', '"default";q=100;w=60'),
}

/** Headers of paginated responses. */
export const paginationHeaders: Headers = {
  Link: text(
    'Where the next page is; absent on the last.',
    '</vault/0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A/events?cursor=WzE0Njk1MjM1MF0>; rel="next"',
  ),
}

/** Headers of streams. */
export const streamHeaders: Headers = {
  'X-Request-Id': text('Id of the request in the logs: its own where that is a valid one.', requestId),
  'Cache-Control': { ...text('A stream is not stored.', 'no-store'), const: 'no-store' },
  'X-Accel-Buffering': { ...text('A proxy that collects answers passes a stream on.', 'no'), const: 'no' },
}

/** Request header for conditional requests. */
export const ifNoneMatchSchema: Schema = text(
  'The ETag of a response that the client has: 304 if it is still current.',
  etag,
)

/** Request header with the position of a stream that is resumed. */
export const lastEventIdSchema: Schema = text(
  'The id of the last event that was received, as an EventSource sends it when it connects again.',
  dataVersion,
)

/** Request header for read-your-writes consistency. */
export const minDataVersionSchema: Schema = {
  ...text(
    'A version from a Data-Version header: the response is at least as new. The gateway waits up to 2 s for it, then ' +
      'answers 503; 409 if it is not part of the current history.',
    dataVersion,
  ),
  pattern: '^[1-9]\\d{0,14}\\.\\d{1,19}$',
}
