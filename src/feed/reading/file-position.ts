import type { FileHandle } from 'node:fs/promises'
import type { FeedPosition } from '../../database/write/feed.ts'
import { lineDigest } from '../fact/digest.ts'
import type { LineStart } from './lines.ts'
import { maxLineBytes } from '../fact/parse.ts'

/** Where a file is read from, and the position that this goes by; none at its beginning. */
export interface FileStart {
  readonly start: LineStart
  readonly startsAfter?: FeedPosition
}

export const atBeginning: FileStart = { start: { line: 0, byte: 0 } }

/** Whether a file is the one that a position is of. */
export async function holds(handle: FileHandle | null, position: FeedPosition | null): Promise<boolean> {
  return handle !== null && position !== null && (await isUnchanged(handle, position))
}

/** Where a plain file is read from. */
export async function startOf(handle: FileHandle, applied: FeedPosition | null): Promise<FileStart> {
  return applied !== null && (await isUnchanged(handle, applied))
    ? { start: applied, startsAfter: applied }
    : atBeginning
}

/** Whether a position is past the last line that was handled. */
export function isAhead(position: FeedPosition | null, handledLine: number): boolean {
  return position !== null && position.line > handledLine
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
