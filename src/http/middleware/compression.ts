import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import negotiator from '@fastify/accept-negotiator'
import { Budget } from '../../fairness/budget.ts'
import { limitConcurrency } from '../../fairness/limit-concurrency.ts'
import { maxConcurrentCompressions } from '../../limits.ts'

const brotli = promisify(brotliCompress)
const gzipped = promisify(gzip)

/** Supported content encodings, in order of preference. */
export const encodings = ['br', 'gzip'] as const
export type Encoding = (typeof encodings)[number]

/** Minimum size of a body to compress, in bytes: a smaller one fits one packet. */
export const leastCompressedBytes = 1_400

/** Maximum length of an Accept-Encoding in characters: parsing 16 KB took up to 2 ms, and browsers send about 30. */
const maxAcceptCharacters = 1_000

/** Matches an encoding that is excluded by its weight: a wildcard does not stand for it (RFC 9110, section 12.5.3). */
const excluded: Readonly<Record<Encoding, RegExp>> = {
  br: /(?:^|,)[ \t]*br[ \t]*;[ \t]*q=0(?:\.0*)?[ \t]*(?:,|$)/,
  gzip: /(?:^|,)[ \t]*gzip[ \t]*;[ \t]*q=0(?:\.0*)?[ \t]*(?:,|$)/,
}

/** Selects the content encoding of a body for a client; null if it is sent without compression, as for a header that is too long. */
export function encodingFor(acceptEncoding: string | null): Encoding | null {
  if (acceptEncoding === null || acceptEncoding.length > maxAcceptCharacters) return null
  const accepted = acceptEncoding.toLowerCase()
  const offered = encodings.filter((encoding) => !excluded[encoding].test(accepted))
  const preferred = negotiator.negotiate<Encoding | 'identity'>(accepted, [...offered, 'identity'])
  return preferred === 'identity' ? null : preferred
}

/** Bodies that are being compressed, or wait for their turn. */
const places = new Budget(maxConcurrentCompressions)
/** As many run at once as libuv has threads, which reads of files use too: one client leaves half of them. */
const inTurn = limitConcurrency(4)

/**
 * Compresses a body for a sender in the thread pool, at a level that pays even if the response is sent only once.
 * @returns null if too many bodies are being compressed; the body is then sent without compression
 */
export function compress(body: Buffer, encoding: Encoding, sender: string): Promise<Buffer> | null {
  if (!places.take(sender, 1)) return null
  return inTurn(sender, () => compressedBy(encoding, body))
    .then(trimmed)
    .finally(() => places.giveBack(sender, 1))
}

/** Copies bytes out of a larger buffer, which would stay in memory with them. */
function trimmed(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

function compressedBy(encoding: Encoding, body: Buffer): Promise<Buffer> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT }
  return encoding === 'br' ? brotli(body, { params }) : gzipped(body, { level: 6 })
}
