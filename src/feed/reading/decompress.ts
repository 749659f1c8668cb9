import { Readable, pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { UnreadableFeed } from '../errors.ts'

export const chunkBytes = 1024 * 1024

/** How much of a source has been read. */
export interface Progress {
  /** As they are packed. */
  bytesRead: number
  /** What those are, unpacked. */
  bytesUnpacked: number
  /** Packed, where that is known. */
  readonly bytesTotal: number | null
}

/** One by one, so that the first of them can be looked at before the others. */
async function* eachOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* chunks
}

export async function* counted(chunks: AsyncIterable<Buffer>, progress: Progress): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    progress.bytesRead += chunk.length
    progress.bytesUnpacked += chunk.length
    yield chunk
  }
}

/** The bytes themselves, or what they unpack to where they begin as gzip does. */
export async function* decompressed(
  packed: AsyncIterable<Buffer>,
  name: string,
  progress: Progress,
): AsyncGenerator<Buffer> {
  const chunks = eachOf(packed)
  const first = await firstBytes(chunks)
  const all = startingWith(first, chunks)
  if (!isGzip(first)) {
    yield* counted(all, progress)
    return
  }
  const gunzip = createGunzip({ chunkSize: chunkBytes })
  pipeline(Readable.from(all), gunzip, () => undefined)
  let given = 0
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      given += chunk.length
      // It unpacks ahead: what it took in is what it has given and what waits in it.
      progress.bytesRead = gunzip.bytesWritten
      progress.bytesUnpacked = given + gunzip.readableLength
      yield chunk
    }
  } catch (error) {
    throw new UnreadableFeed(name, `can't be unpacked to its end: ${(error as Error).message}`)
  }
}

/** As much of the beginning as it takes to tell how it is packed: a pipe may give a byte at a time. */
async function firstBytes(chunks: AsyncGenerator<Buffer>): Promise<Buffer> {
  let first = Buffer.alloc(0)
  while (first.length < 2) {
    const next = await chunks.next()
    if (next.done === true) break
    first = Buffer.concat([first, next.value])
  }
  return first
}

async function* startingWith(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer, void> {
  yield first
  yield* rest
}

export function isGzip(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b
}
