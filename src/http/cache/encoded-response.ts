import { hash } from 'node:crypto'
import { etagOf } from '../middleware/conditional-requests.ts'
import { type Encoding, pack } from '../middleware/compression.ts'
import type { Answer } from '../../rest/problem.ts'
import { type HeaderList, headerList } from '../server/header-list.ts'

/** The data that a content was produced from. */
export interface DataOrigin {
  /** Cache tags of the data; null if they are unknown. */
  readonly tags: ReadonlySet<string> | null
  /** The one data version of all reads; null if there were none, or it is unknown. */
  readonly version: string | null
}

const noOrigin: DataOrigin = { tags: null, version: null }

/**
 * A response as bytes, cached or not, sent any number of times: uncompressed, and in each content encoding, compressed on
 * first use.
 */
export class EncodedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
  /** Digest of the content, the same in each content encoding; null if the response sets its own Cache-Control. */
  readonly etagDigest: string | null
  /** The data that the content was produced from. */
  readonly origin: DataOrigin
  /** All headers of the uncompressed response. */
  readonly plainHeaders: HeaderList
  readonly #packed: Partial<Record<Encoding, Promise<Buffer>>> = {}

  constructor(
    { status, headers, body, cacheControl = 'no-cache' }: Omit<Answer, 'body'> & { readonly body: string | Buffer },
    origin: DataOrigin = noOrigin,
  ) {
    const isTagged = status !== 204 && !('cache-control' in headers)
    this.status = status
    this.origin = origin
    const { vary } = headers
    const varies = vary === undefined ? 'accept-encoding' : `${vary}, accept-encoding`
    this.headers = isTagged ? { ...headers, 'cache-control': cacheControl, vary: varies } : headers
    this.bytes = typeof body === 'string' ? Buffer.from(body) : body
    this.etagDigest = isTagged ? tagOf(this.bytes, vary === undefined ? null : (headers['content-type'] ?? null)) : null
    const length = status === 204 ? {} : { 'content-length': String(this.bytes.length) }
    const etag = this.etagDigest === null ? {} : { etag: etagOf(this.etagDigest, null) }
    this.plainHeaders = headerList({ ...this.headers, ...length, ...etag })
  }

  /**
   * Returns the compressed body.
   * @returns null if too many bodies are being compressed
   */
  packed(encoding: Encoding): Promise<Buffer> | null {
    const known = this.#packed[encoding]
    if (known !== undefined) return known
    const packed = pack(this.bytes, encoding)
    if (packed !== null) this.#packed[encoding] = packed
    return packed
  }
}

/**
 * Returns a digest of a content.
 * @param type of a content that is negotiated: the same bytes as another media type are another representation, whose
 *   tag must differ (RFC 9110, section 8.8.3.3)
 */
function tagOf(bytes: Buffer, type: string | null): string {
  const digest = hash('sha256', bytes, 'base64url')
  return (type === null ? digest : hash('sha256', `${type}\n${digest}`, 'base64url')).slice(0, 27)
}
