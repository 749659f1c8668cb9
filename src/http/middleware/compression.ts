import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import negotiator from '@fastify/accept-negotiator'
import { mostPacking } from '../../limits.ts'

const brotli = promisify(brotliCompress)
const gzipped = promisify(gzip)

/** What an answer can be packed with, the best first. */
const encodings = ['br', 'gzip'] as const
export type Encoding = (typeof encodings)[number]

/** Less than this fits one packet as it is. */
const leastBytes = 1_400

/** How to pack a body for a client; null where it is sent as it is. */
export function encodingFor(body: Buffer, acceptEncoding: string | null): Encoding | null {
  if (acceptEncoding === null || body.length < leastBytes) return null
  return negotiator.negotiate<Encoding>(acceptEncoding.toLowerCase(), [...encodings])
}

/** Bodies that are being packed, or wait for a thread. */
let packing = 0

/**
 * Packs off the main thread, at a level that is worth its time also where the answer is sent once.
 * @returns null where too many bodies are being packed: it is sent as it is
 */
export function pack(body: Buffer, encoding: Encoding): Promise<Buffer> | null {
  if (packing >= mostPacking) return null
  packing++
  return packedBy(encoding, body).finally(() => packing--)
}

function packedBy(encoding: Encoding, body: Buffer): Promise<Buffer> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT }
  return encoding === 'br' ? brotli(body, { params }) : gzipped(body, { level: 6 })
}
