import type { FileHandle } from 'node:fs/promises'
import { UnreadableFeed } from '../errors.ts'
import { decompress, type ByteCounts } from './decompress.ts'
import { readBytes } from './open-file.ts'

/** Number of bytes before the current offset that each read compares, to detect changes in place. */
const comparedBytes = 1024
/** Maximum size of a chunk of a file that may grow: a gateway that follows it keeps answering meanwhile. */
const growingChunkBytes = 1024 * 1024
const newline = 0x0a

/** Reads the contents of an open file as far as they are there. */
export interface ContentReader {
  /**
   * Reads the next chunk.
   * @returns empty where there is no more at the moment
   * @throws {UnreadableFeed} when the file is truncated, rewritten in place or damaged
   */
  read(): Promise<Buffer>
  /**
   * Checks that the file still ends, or goes on, as it was read.
   * @throws {UnreadableFeed} when it is truncated or rewritten in place
   */
  verify(): Promise<void>
  /** Whether the last read has found the end; more may have been appended since. */
  isAtEnd(): boolean
  /** Whether what was read ends within a line, to which more may be appended. */
  isWithinLine(): boolean
  /** Whether all was read, and nothing can be appended: a last line without newline is whole. */
  hasEnded(): boolean
  close(): Promise<void>
}

/**
 * Reads an uncompressed file that may grow.
 * @param from offset to start at, in bytes
 */
export async function plainReader(
  handle: FileHandle,
  name: string,
  from: number,
  byteCounts: ByteCounts,
): Promise<ContentReader> {
  let at = from
  let last = await readTail(handle, at)
  let isAtEnd = false
  return {
    async read() {
      const chunk = await readAppended(handle, name, at, last)
      at += chunk.length
      isAtEnd = chunk.length < growingChunkBytes
      last = Buffer.concat([last, chunk.subarray(-comparedBytes)]).subarray(-comparedBytes)
      byteCounts.bytesRead += chunk.length
      byteCounts.bytesDecompressed += chunk.length
      return chunk
    },
    verify: async () => void (await readAppended(handle, name, at, last)),
    isAtEnd: () => isAtEnd,
    isWithinLine: () => last.length > 0 && last.at(-1) !== newline,
    hasEnded: () => false,
    close: () => Promise.resolve(),
  }
}

/**
 * Reads a gzipped file, which cannot grow.
 * @param from offset to start at, in bytes of the decompressed file
 * @param onEnd called at its end
 */
export function gzipReader(
  handle: FileHandle,
  name: string,
  from: number,
  byteCounts: ByteCounts,
  onEnd: (() => void) | undefined,
): ContentReader {
  const chunks = decompress(readBytes(handle), name, byteCounts)
  let at = 0
  let [isWithin, hasEnded] = [false, false]
  return {
    async read() {
      for (;;) {
        const next = await chunks.next()
        if (next.done === true) {
          if (!hasEnded) onEnd?.()
          hasEnded = true
          return Buffer.alloc(0)
        }
        const chunk = next.value.subarray(Math.max(0, from - at))
        at += next.value.length
        if (chunk.length === 0) continue
        isWithin = chunk.at(-1) !== newline
        return chunk
      }
    },
    verify: () => Promise.resolve(),
    isAtEnd: () => hasEnded,
    isWithinLine: () => isWithin && !hasEnded,
    hasEnded: () => hasEnded,
    close: async () => void (await chunks.return(undefined)),
  }
}

/** Reads appended data; empty where there is none. */
async function readAppended(handle: FileHandle, name: string, at: number, last: Buffer): Promise<Buffer> {
  const length = last.length + growingChunkBytes
  const { bytesRead, buffer } = await handle
    .read(Buffer.alloc(length), 0, length, at - last.length)
    .catch((error: unknown) => Promise.reject(new UnreadableFeed(name, `can't be read: ${(error as Error).message}`)))
  if (bytesRead < last.length) throw new UnreadableFeed(name, truncatedMessage)
  if (!buffer.subarray(0, last.length).equals(last)) throw new UnreadableFeed(name, rewrittenMessage)
  return buffer.subarray(last.length, bytesRead)
}

/** Lines appended between the last read and the truncation exist only in a copy, whose path is unknown here. */
const truncatedMessage =
  'has become shorter than what was read, and lines written just before that may be in its copy alone. Apply the copy ' +
  'by npm run ingest, start the gateway anew, and rotate by renaming (of logrotate create, not copytruncate)'
const rewrittenMessage =
  'was rewritten in place: what stands where it was read is something else now. Start the gateway anew to have it read ' +
  'from its beginning, and put another file there by renaming'

async function readTail(handle: FileHandle, end: number): Promise<Buffer> {
  const length = Math.min(end, comparedBytes)
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, end - length)
  return buffer.subarray(0, bytesRead)
}
