import { type Schema, text } from './schemas.ts'

export type Headers = Readonly<Record<string, Schema>>

const etag = '"GvMTLpTmVBWWV25tJ9tWZgCzJKe"'
const requestId = '3f0c1d9e-5b7a-4c86-9a2f-0d4be1c86a57'

const ofRequest: Headers = {
  'X-Request-Id': text('What the logs call the request: its own where it had one that can stand there.', requestId),
}

/** On every answer, but those that a connection gets before there is a request. */
export const ofContent: Headers = {
  ETag: { ...text('The strong tag of the content.', etag), pattern: '^"[^"]+"$' },
  ...ofRequest,
  'Cache-Control': { ...text('Never used unasked: ask again with If-None-Match.', 'no-cache'), const: 'no-cache' },
}

/** On an answer that tells a failure of the gateway, which is nobody's to keep. */
export const ofFailure: Headers = {
  ...ofRequest,
  'Cache-Control': { ...text('Never kept.', 'no-store'), const: 'no-store' },
}

/** Only where a rate limit is configured. */
export const ofRate: Headers = {
  RateLimit: text('How many requests are left, and in how many seconds there are more again.', '"default";r=99;t=60'),
  'RateLimit-Policy': text('How many requests a sender has in how many seconds.', '"default";q=100;w=60'),
}

export const ofPages: Headers = {
  Link: text(
    'Where the next page is; absent on the last.',
    '</vault/0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A/events?cursor=WzE0Njk1MjM1MF0>; rel="next"',
  ),
}

export const ifNoneMatch: Schema = text('The ETag of an answer that is held already: 304 where it still stands.', etag)
