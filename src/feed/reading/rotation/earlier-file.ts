import type { FileHandle } from 'node:fs/promises'
import { isGzipFile } from '../open-file.ts'
import type { Detours, EarlierFile } from './detours.ts'
import { openRotated, writtenLast } from './rotated-files.ts'

/** Tells whether a file was written to after it was left, when the one behind it is at its end. */
export async function hasLateLines(earlier: EarlierFile | null, detours: Detours): Promise<boolean> {
  if (earlier === null) return false
  detours.end()
  return (await earlier.handle.stat()).size > earlier.bytesRead
}

/**
 * Opens the file that stood at a feed's path before the one with the stored position. All of it is late where it was
 * written to since the feed was read to its end: an earlier run may have ended before it read that.
 * @param readUntil time at which everything was read, in Unix seconds; null where it is unknown
 * @returns null where there is none
 * @throws {UnreadableFeed} when one that may have such lines cannot be opened
 */
export async function openEarlier(
  name: string,
  current: FileHandle,
  readUntil: number | null,
): Promise<EarlierFile | null> {
  const readUntilNs = readUntil === null ? null : BigInt(readUntil) * 1_000_000_000n
  const [file] = await openRotated(name, current, writtenLast(readUntilNs))
  if (file === undefined) return null
  const { handle } = file
  const { mtimeNs, size } = await handle.stat({ bigint: true })
  const wasRead = readUntilNs === null || mtimeNs < readUntilNs
  const wholeFile = (await isGzipFile(handle)) ? Infinity : Number(size)
  return { handle, beganAfter: undefined, bytesRead: wasRead ? wholeFile : 0 }
}
