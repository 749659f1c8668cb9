import { createHash, type Hash } from 'node:crypto'
import { type BytePosition, type FeedPosition, offsetOf } from '../../database/write/feed.ts'
import { lineDigest } from '../fact/digest.ts'

/** Bytes of a file's beginning that have a digest of their own, so that most other files are recognised at once. */
const headBytes = 1_024

/** Digest of everything from the beginning of a feed to an offset, which grows as the feed is read. */
export class PrefixDigest {
  readonly #hash: Hash
  #head: Buffer = Buffer.alloc(0)
  #bytes = 0

  constructor(hash = createHash('sha256')) {
    this.#hash = hash
  }

  /** Offset up to which it extends. */
  get bytes(): number {
    return this.#bytes
  }

  update(chunk: Uint8Array): this {
    const lacking = headBytes - this.#head.length
    if (lacking > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, lacking)])
    this.#hash.update(chunk)
    this.#bytes += chunk.length
    return this
  }

  copy(): PrefixDigest {
    const copied = new PrefixDigest(this.#hash.copy())
    copied.#head = this.#head
    copied.#bytes = this.#bytes
    return copied
  }

  /**
   * Returns digests of the first 1,024 bytes and of all bytes.
   * @returns two times 22 characters of Base64url, with a point between them
   */
  fingerprint(): string {
    return `${lineDigest(this.#head)}.${this.#hash.copy().digest('base64url').slice(0, 22)}`
  }

  /** Returns the position at its end, without the number of the line. */
  end(): BytePosition {
    return { line: 0, byte: this.#bytes, fingerprint: this.fingerprint() }
  }

  /** Tells whether the first bytes, which have a digest of their own, are complete in contents of so many bytes. */
  hasHead(bytes: number): boolean {
    return this.#bytes >= Math.min(bytes, headBytes)
  }

  /** Tells whether contents with a fingerprint may begin like this: false only where their first bytes differ. */
  mayBe(fingerprint: string, bytes: number): boolean {
    return !this.hasHead(bytes) || isLastLineOnly(fingerprint) || fingerprint.startsWith(`${lineDigest(this.#head)}.`)
  }
}

/** Tells whether a fingerprint is that of an older version, which has a digest of the last line only. */
export function isLastLineOnly(fingerprint: string): boolean {
  return !fingerprint.includes('.')
}

/**
 * Tells whether a position is further on in the same source than another one, as where another run is ahead. Positions in files of
 * one feed are of the same file where their first bytes have the same digest; line numbers of several files cannot be compared.
 */
export function isFurtherOn(position: FeedPosition | null, than: FeedPosition): boolean {
  const { line, fingerprint } = than
  if (position === null || position.line <= line) return false
  const [head = ''] = fingerprint.split('.')
  return isLastLineOnly(fingerprint) || (offsetOf(than) >= headBytes && position.fingerprint.startsWith(`${head}.`))
}
