import type { FileHandle } from 'node:fs/promises'
import type { FeedPosition } from '../../database/write/feed.ts'
import { lineDigest } from '../fact/digest.ts'
import type { LineStart } from './lines.ts'
import { maxLineBytes } from '../fact/parse.ts'

/** Start of reading a file, with the position that it continues from; without one it is the beginning. */
export interface FileStart {
  readonly start: LineStart
  readonly startsAfter?: FeedPosition
}

/** Start of a file that is read from its beginning. */
export const atBeginning: FileStart = { start: { line: 0, byte: 0 } }

/** Tells whether a position belongs to a file. */
export async function containsPosition(handle: FileHandle | null, position: FeedPosition | null): Promise<boolean> {
  return handle !== null && position !== null && (await isUnchanged(handle, position))
}

/** Returns the start of an uncompressed file: after the applied lines, unless these have changed. */
export async function startOf(handle: FileHandle, applied: FeedPosition | null): Promise<FileStart> {
  return applied !== null && (await isUnchanged(handle, applied))
    ? { start: applied, startsAfter: applied }
    : atBeginning
}

/** Tells whether a position is after the last processed line. */
export function isAhead(position: FeedPosition | null, handledLine: number): boolean {
  return position !== null && position.line > handledLine
}

/**
 * Tells whether the last applied line is still at its place. A line without a newline does not count, because it may
 * have been incomplete.
 */
async function isUnchanged(handle: FileHandle, { byte, fingerprint }: FeedPosition): Promise<boolean> {
  const from = Math.max(0, byte - maxLineBytes - 2)
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(byte - from), 0, byte - from, from)
  if (bytesRead < byte - from || buffer.at(-1) !== 0x0a) return false
  const line = buffer.subarray(0, -1)
  return lineDigest(line.subarray(line.lastIndexOf(0x0a) + 1)) === fingerprint
}
