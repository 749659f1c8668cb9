import { type HeaderList, headerList } from '../cache/encoded-response.ts'

/** CORS headers of every response: the data is read-only and the same for all senders, so any origin may read it. */
export const sharedHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'age, data-age, data-time, data-version, date, etag, link, ratelimit, ratelimit-policy, retry-after, x-request-id',
}

/** CORS headers of a preflight response. */
const preflight: Readonly<Record<string, string>> = {
  ...sharedHeaders,
  'access-control-allow-methods': 'GET, HEAD, OPTIONS, POST',
  'access-control-allow-headers':
    'authorization, content-type, if-none-match, last-event-id, min-data-version, x-request-id',
  'access-control-max-age': '86400',
}

const sharedList = headerList(sharedHeaders)
const preflightList = headerList(preflight)

/** Returns the CORS headers of a response to a method. */
export function corsHeaders(method: string): HeaderList {
  return method === 'OPTIONS' ? preflightList : sharedList
}
