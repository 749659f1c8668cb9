import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import path from 'node:path'
import { addAbortSignal, Readable, pipeline } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import type { FeedPosition } from '../database/write/feed.ts'
import { lineDigest } from './digest.ts'
import { UnreadableFeed } from './errors.ts'
import type { Line, Start } from './lines.ts'
import { maxLineBytes } from './parse.ts'

const chunkBytes = 1024 * 1024
const pollMilliseconds = 200
const beginning: Start = { line: 0, byte: 0 }

/** Where facts come from: unpacked bytes, and how much of them there is. */
export interface Source {
  /** What its position is kept under, and what messages call it. */
  readonly name: string
  /** Where its first chunk begins. */
  readonly start: Start
  readonly chunks: AsyncIterable<Buffer>
  readonly progress: Progress
  /** What is kept of how far it is with a line, where that is other than the line's number, end and digest. */
  positionAfter?(line: Line): FeedPosition
}

/** How much of a source has been read. */
export interface Progress {
  /** As they are packed. */
  bytesRead: number
  /** What those are, unpacked. */
  bytesUnpacked: number
  /** Packed, where that is known. */
  readonly bytesTotal: number | null
}

/** A file, plain or gzipped, from its beginning to its end. */
export async function fileSource(file: string): Promise<Source> {
  const name = path.resolve(file)
  const handle = await openFeed(name)
  const progress = noneOf((await handle.stat()).size)
  const packed = createReadStream(name, { fd: handle, highWaterMark: chunkBytes })
  return { name, start: beginning, chunks: unpacked(packed, name, progress), progress }
}

/**
 * Standard input, plain or gzipped, to its end.
 * @param signal ends it while it waits for more
 */
export function inputSource(input: Readable, signal?: AbortSignal): Source {
  const name = 'standard input'
  const progress = noneOf(null)
  const chunks = signal === undefined ? input : endedBy(signal, input)
  return { name, start: beginning, chunks: unpacked(chunks, name, progress), progress }
}

/**
 * A plain file, from where it has been applied to, and on as it grows. A file whose applied part was replaced is read
 * from its beginning again. A gzipped file can't grow, so it is read to its end.
 * @param applied how far it has been applied before
 * @param signal ends it
 */
export async function followedSource(file: string, applied: FeedPosition | null, signal: AbortSignal): Promise<Source> {
  const name = path.resolve(file)
  const handle = await openFeed(name)
  if (isGzip((await handle.read(Buffer.alloc(2), 0, 2, 0)).buffer)) {
    await handle.close()
    return fileSource(file)
  }
  const start = applied !== null && (await isUnchanged(handle, applied)) ? applied : beginning
  const progress = noneOf(null)
  return { name, start, chunks: counted(growing(handle, name, start.byte, signal), progress), progress }
}

function noneOf(bytesTotal: number | null): Progress {
  return { bytesRead: 0, bytesUnpacked: 0, bytesTotal }
}

async function openFeed(name: string): Promise<FileHandle> {
  try {
    const handle = await open(name, 'r')
    if ((await handle.stat()).isFile()) return handle
    await handle.close()
  } catch (error) {
    throw new UnreadableFeed(name, `can't be opened: ${(error as Error).message}`)
  }
  throw new UnreadableFeed(name, 'is not a file')
}

async function* endedBy(signal: AbortSignal, input: Readable): AsyncGenerator<Buffer> {
  try {
    yield* addAbortSignal(signal, input) as AsyncIterable<Buffer>
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

async function* growing(handle: FileHandle, name: string, from: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  let at = from
  try {
    while (!signal.aborted) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(chunkBytes), 0, chunkBytes, at)
      at += bytesRead
      if (bytesRead > 0) yield buffer.subarray(0, bytesRead)
      else if ((await handle.stat()).size < at) throw new UnreadableFeed(name, 'has become shorter than what was read')
      else await wait(pollMilliseconds, undefined, { signal }).catch(() => undefined)
    }
  } finally {
    await handle.close()
  }
}

/**
 * Whether the line that was applied last still stands where it stood. One that had no newline yet may have been half
 * of a line, so it doesn't count.
 */
async function isUnchanged(handle: FileHandle, { byte, fingerprint }: FeedPosition): Promise<boolean> {
  const from = Math.max(0, byte - maxLineBytes - 2)
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(byte - from), 0, byte - from, from)
  if (bytesRead < byte - from || buffer.at(-1) !== 0x0a) return false
  const line = buffer.subarray(0, -1)
  return lineDigest(line.subarray(line.lastIndexOf(0x0a) + 1)) === fingerprint
}

/** One by one, so that the first of them can be looked at before the others. */
async function* eachOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* chunks
}

async function* counted(chunks: AsyncIterable<Buffer>, progress: Progress): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    progress.bytesRead += chunk.length
    progress.bytesUnpacked += chunk.length
    yield chunk
  }
}

/** The bytes themselves, or what they unpack to where they begin as gzip does. */
async function* unpacked(packed: AsyncIterable<Buffer>, name: string, progress: Progress): AsyncGenerator<Buffer> {
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

function isGzip(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b
}
