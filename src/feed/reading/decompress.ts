import { Readable, pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { UnreadableFeed } from '../errors.ts'

/** Size of a chunk of a feed that ends: usual marks are about as many as a batch has. */
export const chunkBytes = 2.5 * 1024 * 1024

/** How much of a source is read, in bytes. */
export interface ByteCounts {
  /** As stored, possibly compressed. */
  bytesRead: number
  /** After decompression. */
  bytesDecompressed: number
  /** Size as stored; null where it is unknown. */
  readonly bytesTotal: number | null
}

/** Returns the counts of a source before the first read. */
export function noBytesYet(bytesTotal: number | null): ByteCounts {
  return { bytesRead: 0, bytesDecompressed: 0, bytesTotal }
}

/** Yields chunks one by one, so that the first can be inspected before the others are read. */
async function* oneByOne(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* chunks
}

/** Counts the bytes of an uncompressed source. */
export async function* countBytes(chunks: AsyncIterable<Buffer>, byteCounts: ByteCounts): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    byteCounts.bytesRead += chunk.length
    byteCounts.bytesDecompressed += chunk.length
    yield chunk
  }
}

/**
 * Decompresses a source that starts with the gzip magic number, and passes through any other.
 * @param signal ends the source early where it has aborted, so that its end is no damage
 * @throws {UnreadableFeed} when the compressed data is damaged or incomplete
 * @see RFC 1952, section 2.3.1
 */
export async function* decompress(
  compressed: AsyncIterable<Buffer>,
  name: string,
  byteCounts: ByteCounts,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  const chunks = oneByOne(compressed)
  const first = await firstBytes(chunks)
  const all = prepend(first, chunks)
  if (!isGzip(first)) {
    yield* countBytes(all, byteCounts)
    return
  }
  const gunzip = createGunzip({ chunkSize: chunkBytes })
  const input = { bytes: 0, endOfData: 0 }
  pipeline(Readable.from(measured(all, input)), gunzip, () => undefined)
  let given = 0
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      given += chunk.length
      // Decompression runs ahead: its output is what was yielded and what is buffered.
      byteCounts.bytesRead = gunzip.bytesWritten
      byteCounts.bytesDecompressed = given + gunzip.readableLength
      yield chunk
    }
  } catch (error) {
    if (signal?.aborted === true) return
    throw new UnreadableFeed(name, `can't be unpacked to its end: ${(error as Error).message}`)
  }
  // Zero bytes may pad the end. After one, zlib reads no further.
  if (input.endOfData > gunzip.bytesWritten)
    throw new UnreadableFeed(
      name,
      "can't be unpacked to its end: something else follows zero bytes after compressed data",
    )
}

/** Counts bytes, and those up to the last one that is not zero. */
async function* measured(
  chunks: AsyncIterable<Buffer>,
  input: { bytes: number; endOfData: number },
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    const last = chunk.findLastIndex((byte) => byte !== 0)
    if (last >= 0) input.endOfData = input.bytes + last + 1
    input.bytes += chunk.length
    yield chunk
  }
}

/** Reads the two bytes of the magic number, because a pipe may deliver one byte at a time. */
async function firstBytes(chunks: AsyncGenerator<Buffer>): Promise<Buffer> {
  let first = Buffer.alloc(0)
  while (first.length < 2) {
    const next = await chunks.next()
    if (next.done === true) break
    first = Buffer.concat([first, next.value])
  }
  return first
}

async function* prepend(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer, void> {
  yield first
  yield* rest
}

/** Tells whether data starts with the gzip magic number. */
export function isGzip(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b
}
