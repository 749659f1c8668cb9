import type { FileHandle } from 'node:fs/promises'
import { isGzipFile } from '../open-file.ts'
import type { EarlierFile } from './detours.ts'
import { unknownBeginning } from './file-beginning.ts'
import type { FollowedFile, FollowedPath } from './followed-file.ts'
import { readUntilNs } from './choices-by-position.ts'
import { begunLast, openRotated, unread } from './rotated-files.ts'

/** Tells whether a file was written to after it was left. */
export async function hasLateLines(earlier: EarlierFile | null): Promise<boolean> {
  return earlier !== null && (await earlier.handle.stat()).size > earlier.bytesRead
}

/**
 * Opens the file that stood at a feed's path before the one with the stored position. All of it is late where it was
 * written to since the feed was read to its end: an earlier run may have ended before it read that.
 * @returns null where there is none
 * @throws {UnreadableFeed} when one that may have such lines cannot be opened
 */
export async function openEarlier(
  followedPath: Pick<FollowedPath, 'name' | 'readUntil'>,
  current: FileHandle,
): Promise<EarlierFile | null> {
  const sinceNs = readUntilNs(followedPath)
  const [file] = await openRotated(followedPath.name, [current], begunLast(sinceNs))
  if (file === undefined) return null
  const { handle } = file
  const { mtimeNs, size } = await handle.stat({ bigint: true })
  const wasRead = sinceNs === null || mtimeNs < sinceNs
  const wholeFile = (await isGzipFile(handle)) ? Infinity : Number(size)
  return { handle, beginning: unknownBeginning, bytesRead: wasRead ? wholeFile : 0 }
}

/**
 * Returns a file after a failover, with the lines late again that came to the file before it, where they may be lost.
 * @param areLost whether they are read again in any case; else where that file was written to since the feed was read to its end last
 */
export async function withLateLinesAgain(file: FollowedFile, areLost: boolean): Promise<FollowedFile> {
  const { earlier, handle, detours } = file
  if (earlier === null) return file
  const isUnread = (await earlier.handle.stat({ bigint: true })).mtimeNs >= (readUntilNs(file) ?? 0n)
  return areLost || isUnread ? { ...file, ...detours.undo(handle, earlier) } : file
}

/**
 * Opens the rotated files that were written to since the feed was read to its end last.
 * @param open files that are none of them, the newest last
 * @returns open files, the oldest first, which the caller must close
 * @throws {UnreadableFeed} when one of them cannot be opened
 */
export async function openUnread(file: FollowedFile, open: readonly FileHandle[]): Promise<readonly FileHandle[]> {
  const sinceNs = readUntilNs(file) ?? 0n
  const choose = unread(({ mtimeNs }) => mtimeNs >= sinceNs)
  const files = await openRotated(file.name, open, choose)
  if (files.length > 0) file.watcher?.onRotated(files.map((each) => each.path))
  return files.map(({ handle }) => handle)
}
