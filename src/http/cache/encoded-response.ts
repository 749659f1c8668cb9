import { hash } from 'node:crypto'
import type { DataOrigin, DataState } from '../../graphql/execution/context.ts'
import type { TextResponse } from '../../rest/text-response.ts'
import type { IncomingRequest } from '../incoming-request.ts'
import { compress, type Encoding, encodingFor, encodings, leastCompressedBytes } from '../middleware/compression.ts'
import type { ByteSink } from '../server/byte-sink.ts'

/**
 * Alternating names and values, a format that node:http accepts: building an object for each response would cost more.
 */
export type HeaderList = readonly string[]

/** Converts a record of headers into a header list. */
export function headerList(headers: Readonly<Record<string, string>>): HeaderList {
  const list: string[] = []
  // `Object.entries` would allocate an array for each header of each response.
  for (const name in headers) list.push(name, headers[name] as string)
  return list
}

/** A text response, or one whose body is bytes already, such as a page. */
type UnencodedResponse = Omit<TextResponse, 'body'> & { readonly body: string | Buffer }

/** State of the data as this process was notified of it, with the headers that report it and the headers of every response. */
export interface NotifiedState extends DataState {
  readonly headers: HeaderList
  /** Number of times that notifications began or ended before it. */
  readonly interruptions: number
}

/** The origin of the data in a response, when it was encoded. */
export interface ResponseOrigin extends Readonly<DataOrigin> {
  /** State of the data that this process was notified of before it read the data; null where the response has none. */
  readonly notified: NotifiedState | null
}

/** The origin of a response that contains no data. */
export const noOrigin: ResponseOrigin = { tags: new Set(), version: null, isCacheable: false, notified: null }

/**
 * A response as bytes, which can be sent repeatedly: uncompressed, or in a content encoding, compressed on first use.
 */
export class EncodedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
  /** Digest of the content, the same in each content encoding; null for 204, and where `headers` has a Cache-Control. */
  readonly etagDigest: string | null
  readonly origin: ResponseOrigin
  /** Whether caches may store the response and send it to other clients. */
  readonly isPublic: boolean
  /** All headers of the uncompressed response. */
  readonly plainHeaders: HeaderList
  readonly #compressed: Partial<Record<Encoding, Promise<Buffer> | undefined>> = {}

  /** @param compressed bodies that are already compressed */
  constructor(
    { status, headers, body, cacheControl = 'no-cache' }: UnencodedResponse,
    origin: ResponseOrigin = noOrigin,
    compressed: Readonly<Partial<Record<Encoding, Promise<Buffer>>>> = {},
  ) {
    for (const encoding of encodings) {
      const known = compressed[encoding]
      if (known !== undefined) this.#keep(encoding, known)
    }
    const hasEtag = status !== 204 && !('cache-control' in headers)
    this.status = status
    this.origin = origin
    const { vary } = headers
    // A cache that may reuse data without validation must not serve it to a client that requires a version.
    const isReusableData = origin.notified !== null && !cacheControl.endsWith('no-cache')
    const varies = [
      ...(vary === undefined ? [] : [vary]),
      'accept-encoding',
      ...(isReusableData ? ['min-data-version'] : []),
    ]
    this.isPublic = cacheControl.startsWith('public')
    this.headers = hasEtag ? { ...headers, 'cache-control': cacheControl, vary: varies.join(', ') } : headers
    this.bytes = typeof body === 'string' ? unpooled(body) : body
    this.etagDigest = hasEtag
      ? digestOf(this.bytes, vary === undefined ? null : (headers['content-type'] ?? null))
      : null
    const plain: Record<string, string> = { ...this.headers }
    if (status !== 204) plain['content-length'] = String(this.bytes.length)
    if (this.etagDigest !== null) plain['etag'] = etagOf(this.etagDigest, null)
    this.plainHeaders = headerList(plain)
  }

  /**
   * Returns the compressed body, compressed in the turn of the first sender that asks for it.
   * @returns null if too many bodies are being compressed
   */
  compressed(encoding: Encoding, sender: string): Promise<Buffer> | null {
    const known = this.#compressed[encoding]
    if (known !== undefined) return known
    const compressed = compress(this.bytes, encoding, sender)
    if (compressed !== null) this.#keep(encoding, compressed)
    return compressed
  }

  /** Keeps a compressed body, unless the compression fails, as for lack of memory: the next client has another. */
  #keep(encoding: Encoding, compressed: Promise<Buffer>): void {
    this.#compressed[encoding] = compressed
    compressed.catch(() => (this.#compressed[encoding] = undefined))
  }
}

/** A response as it is sent, with its body in bytes, if any. */
export interface OutgoingResponse {
  readonly status: number
  readonly headers: HeaderList
  readonly bytes: Buffer | null
  /** Called, instead of sending `bytes`, with a body that stays open; with null if the client has left. */
  readonly stream?: (sink: ByteSink | null) => void
}

/**
 * Adapts a response to its client: compressed as negotiated, or 304 if the client has the content.
 * @param own headers of this exchange
 */
export function negotiate(
  request: IncomingRequest,
  response: EncodedResponse,
  own: HeaderList,
  sender: string,
): OutgoingResponse | Promise<OutgoingResponse> {
  const { status, bytes, headers, etagDigest: digest } = response
  if (status === 204) return { status, headers: headerList(headers).concat(own), bytes: null }
  const isLong = bytes.length >= leastCompressedBytes
  const encoding = isLong ? encodingFor(request.header('accept-encoding')) : null
  // RFC 9110, section 13.1.2: 304 is for GET and HEAD only; a query by POST has no effect that 412 could prevent.
  const held = request.method === 'GET' || request.method === 'HEAD' ? request.header('if-none-match') : null
  const etag = held === null || digest === null || status !== 200 ? null : heldEtag(held, digest, encoding)
  if (etag !== null) {
    const { 'content-type': _, ...others } = headers
    return { status: 304, headers: headerList({ ...others, etag }).concat(own), bytes: null }
  }
  const compressing = encoding === null ? null : response.compressed(encoding, sender)
  if (encoding === null || compressing === null) return { status, headers: response.plainHeaders.concat(own), bytes }
  return compressing.then((compressed) => {
    const length = { 'content-encoding': encoding, 'content-length': String(compressed.length) }
    const etag = digest === null ? {} : { etag: etagOf(digest, encoding) }
    return { status, headers: headerList({ ...headers, ...length, ...etag }).concat(own), bytes: compressed }
  })
}

/** Encodes a text in a buffer of its own: a short slice of Node's pool would keep 8 KB in memory as long as it is cached. */
function unpooled(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  bytes.write(text)
  return bytes
}

/** Length of a digest, 162 bits in Base64url: the suffix of an ETag names the content encoding. */
const digestCharacters = 27

/**
 * Returns a digest of a content.
 * @param type of a content that is negotiated: the same bytes as another media type are another representation, whose
 *   ETag must differ (RFC 9110, section 8.8.3.3)
 */
function digestOf(bytes: Buffer, type: string | null): string {
  const digest = hash('sha256', bytes, 'base64url')
  return (type === null ? digest : hash('sha256', `${type}\n${digest}`, 'base64url')).slice(0, digestCharacters)
}

/** Returns a strong ETag: each content encoding of the same content has an ETag of its own. */
function etagOf(digest: string, encoding: Encoding | null): string {
  return encoding === null ? `"${digest}"` : `"${digest}-${encoding}"`
}

/**
 * Returns the ETag of a representation that a client has, in the negotiated content encoding or uncompressed, since either may be
 * sent to it; null if it has neither. The client may be a cache that has another encoding, for clients that accept others.
 * @param ifNoneMatch compared weakly: an intermediate cache may have weakened the ETag
 */
function heldEtag(ifNoneMatch: string, digest: string, encoding: Encoding | null): string | null {
  const etags = [etagOf(digest, encoding), etagOf(digest, null)]
  if (ifNoneMatch.trim() === '*') return etags[0] ?? null
  // An ETag in its quotes is found in no other one. Splitting a list of 16 KB took up to 3 ms.
  return etags.find((etag) => ifNoneMatch.includes(etag)) ?? null
}
