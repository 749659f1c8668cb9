import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { type BytePosition, type FeedPosition, inText, type LockedPosition } from '../../database/write/feed.ts'
import { UnrepeatableFeed } from '../errors.ts'
import type { SourceEnd } from '../read-until.ts'
import { gzipReader, plainReader } from './content-reader.ts'
import { noBytesYet } from './decompress.ts'
import {
  atBeginning,
  atBeginningAgain,
  beginsLike,
  containsPosition,
  extendsBeyond,
  type FileStart,
  type ReopenFrom,
  startOf,
} from './file-position.ts'
import { growingFile, type PathWatcher } from './growing-file.ts'
import { inPlaceChangeDetector } from './in-place-changes.ts'
import { closeAll, isGzipFile, openFeed, openIfThere } from './open-file.ts'
import { hasLateLines, openEarlier, openUnread, withLateLinesAgain } from './rotation/earlier-file.ts'
import { beginningOfFile, canContinueIn } from './rotation/file-beginning.ts'
import { fileVersion, pathOf, readName, withReadName } from './rotation/file-identity.ts'
import { type FollowedFile, type FollowedPath, firstFile, followPath } from './rotation/followed-file.ts'
import { fromNewestContaining, fromOldestExtending, readUntilNs } from './rotation/choices-by-position.ts'
import { openMissed } from './rotation/missed-files.ts'
import { allGenerations, openRotated, type RotatedFileChoice } from './rotation/rotated-files.ts'
import type { ByteSource } from './source.ts'

/**
 * Opens a file that is read as it grows, until another one replaces it; a gzipped one cannot grow. It starts at the applied
 * position. Where the file does not contain that, a rotated one beside it that does is read first, with those in between; without
 * one, and where nothing was applied, all rotated files are, and the file is read from its beginning.
 * @param stored position of the feed in the database
 * @param readUntil time at which it was read to its end last, in Unix seconds; null where it never was
 * @throws {UnreadableFeed} when it, or a rotated one that may have facts which are not applied, cannot be opened
 */
export async function followedSource(
  file: string,
  stored: FeedPosition | null,
  signal: AbortSignal,
  watcher?: PathWatcher,
  readUntil: number | null = null,
): Promise<ByteSource> {
  const followedPath = followPath({ name: path.resolve(file), readUntil, signal, watcher })
  const current = await openIfThere(followedPath.name)
  try {
    return await sourceAt(followedPath, current, inText(stored))
  } catch (error) {
    await current?.close()
    throw error
  }
}

async function sourceAt(
  followedPath: FollowedPath,
  current: FileHandle | null,
  stored: BytePosition | null,
): Promise<ByteSource> {
  const { name, signal, watcher } = followedPath
  const open = current === null ? [] : [current]
  const from = current === null ? atBeginning() : await startOf(current, stored, signal)
  if (from.containsApplied && stored !== null) {
    const older = await rotatedSource(followedPath, stored, open, fromOldestExtending(followedPath, stored))
    if (older !== null) return older
  }
  if (!from.containsApplied && !signal.aborted) {
    const containing =
      stored && (await rotatedSource(followedPath, stored, open, fromNewestContaining(followedPath, stored)))
    if (containing !== null) return containing
    if (stored !== null) watcher?.onOtherFile(stored)
    // A file that was edited in place is still the same file.
    const isSame = stored !== null && current !== null && (await beginsLike(current, stored))
    const all = isSame ? null : await rotatedSource(followedPath, stored, open, allGenerations)
    if (all !== null) return all
  }
  const handle = current ?? (await openFeed(name))
  const earlier = from.containsApplied ? await openEarlier(followedPath, handle) : null
  return followed({ ...firstFile(followedPath), handle, beginning: beginningOfFile(from, stored), earlier }, from)
}

/**
 * Opens rotated files beside a feed's, and reads them before it; null where none is chosen.
 * @param open files that are read after them, the oldest first
 * @param later files that are read after these
 */
async function rotatedSource(
  followedPath: FollowedPath,
  stored: BytePosition | null,
  open: readonly FileHandle[],
  choose: RotatedFileChoice,
  later: readonly FileHandle[] = [],
): Promise<ByteSource | null> {
  const { name, signal, watcher } = followedPath
  const files = await openRotated(name, open, choose)
  const [first, ...others] = files.map(({ handle }) => handle)
  if (first === undefined) return null
  watcher?.onRotated(files.map((each) => each.path))
  const successors = [...others, ...open, ...later]
  const from = await startOf(first, stored, signal)
  const beginning = beginningOfFile(from, stored)
  return followed({ ...firstFile(followedPath), handle: first, beginning, successors }, from)
}

async function followed(file: FollowedFile, from: FileStart): Promise<ByteSource> {
  const { name, handle, beginning, earlier, detours, signal, watcher } = file
  const byteCounts = noBytesYet(null)
  const isGzip = await isGzipFile(handle)
  const reader = isGzip
    ? gzipReader(handle, name, from.start.byte, byteCounts, () => watcher?.onGzipEnd())
    : await plainReader(handle, name, from.start.byte, byteCounts)
  let listener: (end: SourceEnd) => Promise<void> = () => Promise.resolve()
  const growing = growingFile({
    ...file,
    reader,
    inPlaceChanges: isGzip ? null : inPlaceChangeDetector(handle, from.digest, signal),
    onEnd: (end) => listener(end),
    openMissed: (successor, sinceNs) => openMissed({ ...file, digest: from.digest, successor, sinceNs }),
    endDetour: () => (earlier === null ? undefined : detours.end()),
    hasLateLines: () => hasLateLines(earlier),
    takeDetour: (isLast) => (isLast ? detours.takeLast(handle) : detours.mayBegin()),
  })
  return {
    name,
    ...from,
    chunks: withReadName(growing.chunks, name, handle),
    byteCounts,
    readName: () => readName(name, handle),
    isCut: growing.isCut,
    hasEnded: growing.hasEnded,
    onEnd: (given) => void (listener = given),
    async next(stored) {
      const [ending, successors] = [growing.ending(), growing.takeSuccessors()]
      if (ending === 'changed in place') {
        watcher?.onChangedInPlace()
        return { ...(await followed({ ...file, successors }, atBeginning())), isReadAgain: true }
      }
      if (ending === 'late lines' && earlier !== null) {
        watcher?.onLateLines()
        detours.begin(handle, from.digest, { beginning, earlier })
        const back = { ...file, ...earlier, earlier: null, successors: [handle, ...successors] }
        const start = await startOf(earlier.handle, beginning.isKnown ? beginning.after : null, signal)
        return { ...(await followed(back, start)), isReadAgain: true }
      }
      const [successor, ...others] = successors
      if (ending === null || successor === undefined) return null
      if (earlier && (await hasLateLines(earlier))) watcher?.onLeft(await readName(name, earlier.handle))
      if (earlier && detours.hadAny(handle)) await file.lateFiles.add(earlier)
      if (earlier && !successors.includes(earlier.handle)) await earlier.handle.close()
      file.finished.add(await fileVersion(handle)).add(from.digest.fingerprint())
      const bytesRead = isGzip ? Infinity : growing.isCut() ? 0 : from.digest.bytes
      const left = { handle, beginning, bytesRead, end: from.digest.end() }
      const position = inText(stored)
      const begins = await startOf(successor, position, signal)
      // A longer copy of the file begins where that began.
      const itsBeginning = begins.containsApplied ? beginning : beginningOfFile(begins, position)
      const start = await detours.afterDetour(successor, begins, position)
      return followed({ ...file, handle: successor, earlier: left, beginning: itsBeginning, successors: others }, start)
    },
    reopen: (position, readFrom) => openForPosition(file, growing.takeSuccessors(), inText(position), readFrom),
    close: () => closeAll([handle, ...growing.takeSuccessors(), ...(earlier ? [earlier.handle] : [])]),
  }
}

/**
 * Opens the file that a position belongs to, after a failover, and after it the older ones whose late lines may be lost.
 * @throws {UnrepeatableFeed} when it is neither open nor beside the file at the path
 */
async function openForPosition(
  left: FollowedFile,
  successors: readonly FileHandle[],
  position: Extract<LockedPosition, BytePosition> | null,
  readFrom: ReopenFrom,
): Promise<ByteSource> {
  const { name, handle, earlier, detours, signal, watcher } = left
  const file = { ...left, successors, readUntil: position?.readUntil ?? 0, finished: new Set<string>() }
  detours.forgetHandled()
  const from = await startOf(handle, position, signal)
  if (from.containsApplied && position !== null) {
    const older = await rotatedSource(file, position, [handle], fromOldestExtending(file, position), successors)
    if (older !== null) {
      await earlier?.handle.close()
      return older
    }
    if (earlier === null || !(await extendsBeyond(earlier.handle, position, signal))) {
      const start = readFrom === 'beginning' ? await atBeginningAgain(handle, position) : from
      return followed(await withLateLinesAgain(file, readFrom === 'beginning'), start)
    }
  }
  const open = [...(earlier ? [earlier.handle] : []), handle, ...successors]
  await file.lateFiles.requireReadable(name, readUntilNs(file) ?? 0n, open, signal)
  const isOfEarlier = earlier !== null && (await canContinueIn(earlier, position))
  const isOpen = isOfEarlier || (await canContinueIn(file, position))
  if (!isOpen && !(await containsPosition(successors[0] ?? null, position))) {
    const current = await openIfThere(name)
    // A removed file cannot be opened again.
    const isRemoved = (await Promise.all(open.map((one) => pathOf(name, one)))).includes(null)
    const later = isRemoved ? open : current === null ? [] : [current]
    const rotated = await rotatedSource(file, position, later, fromNewestContaining(file, position))
    if (rotated !== null) {
      await (isRemoved ? current?.close() : closeAll(open))
      return rotated
    }
    // Another run may be ahead in the file at the path, which follows this one.
    const isAtPath = await containsPosition(current, position, signal)
    await current?.close()
    if (!isAtPath && (earlier ?? file).beginning.isKnown) {
      await closeAll(open)
      throw UnrepeatableFeed.ofRemovedFile(name, position)
    }
    if (position !== null && !isAtPath) watcher?.onOtherFile(position)
  }
  if (earlier === null || !(isOfEarlier || position === null))
    return followed(await withLateLinesAgain(file, false), from)
  const unread = await openUnread(file, open)
  // The file before the newest one is watched for late lines: it is the last to be read.
  const older = unread.length > 0 ? [...unread, earlier.handle] : []
  const rest = { earlier: null, successors: [...older, handle, ...successors] }
  return followed({ ...file, ...earlier, ...rest }, await startOf(earlier.handle, position, signal))
}
