import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { type FeedPosition, isSamePosition } from '../../database/write/feed.ts'
import { UnrepeatableFeed } from '../errors.ts'
import type { SourceEnd } from '../reach.ts'
import { gzipReader, plainReader } from './content-reader.ts'
import { noProgress } from './decompress.ts'
import { atBeginning, containsPosition, type FileStart, isAhead, startOf } from './file-position.ts'
import { growingFile, type PathWatcher } from './growing-file.ts'
import { inPlaceChanges } from './in-place-changes.ts'
import { isGzipFile, openFeed, openIfThere } from './open-file.ts'
import { isSameFile, openRotated, type RotatedFile } from './rotated-files.ts'
import type { ByteSource } from './source.ts'

/**
 * Opens a file that is read as it grows, until another one replaces it. It starts at the applied position. Where the
 * file does not hold that, a rotated one beside it that does is read first, with those in between; without one the file
 * is read from its beginning. A gzipped file cannot grow, and is read until another one replaces it.
 * @param stored position of the feed in the database
 * @param signal ends reading
 * @param watcher observes the file at the path
 * @throws {UnreadableFeed} when it cannot be opened
 */
export async function followedSource(
  file: string,
  stored: FeedPosition | null,
  signal: AbortSignal,
  watcher?: PathWatcher,
): Promise<ByteSource> {
  const followedPath = { name: path.resolve(file), signal, watcher }
  const current = await (stored === null ? openFeed(followedPath.name) : openIfThere(followedPath.name))
  const from = current === null ? atBeginning() : await startOf(current, stored, signal)
  const isOther = stored !== null && !from.holdsApplied && !signal.aborted
  const rotated = isOther ? await rotatedSource(followedPath, stored, current) : null
  if (rotated !== null) return rotated
  if (isOther && current !== null) watcher?.onOtherFile(stored)
  const opened = { handle: current ?? (await openFeed(followedPath.name)), beganAfter: isOther ? stored : undefined }
  return followed({ ...followedPath, ...opened, earlier: null, successors: [] }, from)
}

interface FollowedPath {
  readonly name: string
  readonly signal: AbortSignal
  readonly watcher: PathWatcher | undefined
}

interface FollowedFile extends FollowedPath {
  readonly handle: FileHandle
  /** Position of the previous file, after which this one starts; undefined where it is unknown. */
  readonly beganAfter: FeedPosition | null | undefined
  /** The file that it replaced, kept open because a failover may lose facts of it. */
  readonly earlier: Pick<FollowedFile, 'handle' | 'beganAfter'> | null
  /** The files that have replaced it, the oldest first, where these are known. */
  readonly successors: readonly FileHandle[]
}

/** Opens the rotated file that holds a position, and those after it; null where there is none. */
async function rotatedSource(
  { name, signal, watcher }: FollowedPath,
  stored: FeedPosition,
  current: FileHandle | null,
): Promise<ByteSource | null> {
  const files = await openRotated(name, current, (handle) => containsPosition(handle, stored, signal))
  const [first, ...others] = files.map(({ handle }) => handle)
  if (first === undefined) return null
  watcher?.onRotated(files.map((each) => each.path))
  const successors = [...others, ...(current === null ? [] : [current])]
  const file = { name, signal, watcher, handle: first, beganAfter: undefined, earlier: null, successors }
  return followed(file, await startOf(first, stored, signal))
}

async function followed(file: FollowedFile, from: FileStart): Promise<ByteSource> {
  const { name, handle, beganAfter, earlier, signal, watcher } = file
  const progress = noProgress(null)
  const isGzip = await isGzipFile(handle)
  const { byte } = from.start
  const reader = isGzip
    ? gzipReader(handle, name, byte, progress, () => watcher?.onGzipEnd())
    : await plainReader(handle, name, byte, progress)
  const changes = isGzip ? null : inPlaceChanges(handle, from.prefix, signal)
  let listener: (end: SourceEnd) => Promise<void> = () => Promise.resolve()
  const atEnd = (end: SourceEnd): Promise<void> => listener(end)
  const [known = null, ...later] = file.successors
  const growing = growingFile({ ...{ handle, name, signal, watcher, reader, changes, atEnd }, successor: known })
  const takeSuccessors = (): FileHandle[] => [growing.takeSuccessor() ?? [], later.splice(0)].flat()
  return {
    ...{ name, ...from, chunks: growing.chunks, progress },
    onEnd: (given) => void (listener = given),
    async next(position) {
      const successors = takeSuccessors()
      if (growing.ending() === 'changed in place') {
        watcher?.onChangedInPlace()
        return { ...(await followed({ ...file, successors }, atBeginning())), isReadAgain: true }
      }
      const [successor, ...others] = growing.ending() === null ? [] : await withMissed(file, successors, position)
      if (successor === undefined) return null
      await earlier?.handle.close()
      const opened = { handle: successor, earlier: { handle, beganAfter }, beganAfter: position, successors: others }
      return followed({ ...file, ...opened }, await startOf(successor, position, signal))
    },
    reopen: (position, handledLine) => reopened(file, takeSuccessors(), position, handledLine),
    async close() {
      await Promise.all([handle, ...takeSuccessors(), ...(earlier ? [earlier.handle] : [])].map((one) => one.close()))
    },
  }
}

/**
 * Adds the files that stood at the path for so short a time that they were never opened, as two rotations leave them, or
 * while the feed waited for the database. They follow the file itself, or a compressed copy that has taken its place.
 * @param position of the feed, at the end of the file
 */
async function withMissed(
  { name, handle, signal, watcher }: FollowedFile,
  successors: readonly FileHandle[],
  position: FeedPosition | null,
): Promise<readonly FileHandle[]> {
  const [successor] = successors
  if (successor === undefined || successors.length > 1) return successors
  const after = (isFirst: (one: FileHandle) => Promise<boolean>): Promise<RotatedFile[]> =>
    openRotated(name, successor, isFirst)
  let found = await after((one) => isSameFile(one, handle))
  if (found.length === 0) found = await after((one) => containsPosition(one, position, signal))
  const [own, ...missed] = found
  await own?.handle.close()
  if (missed.length > 0) watcher?.onRotated(missed.map((each) => each.path))
  return [...missed.map((each) => each.handle), successor]
}

/**
 * Opens the file that a position belongs to, after a failover.
 * @throws {UnrepeatableFeed} when it is neither open nor beside the file at the path
 */
async function reopened(
  file: FollowedFile,
  successors: readonly FileHandle[],
  position: FeedPosition | null,
  handledLine: number,
): Promise<ByteSource> {
  const { name, handle, earlier, signal, watcher } = file
  const from = await startOf(handle, position, signal)
  if (from.holdsApplied) return followed({ ...file, successors }, isAhead(position, handledLine) ? atBeginning() : from)
  const isOfEarlier = await isFrom(earlier, position)
  const isOfNext = await containsPosition(successors[0] ?? null, position)
  if (position !== null && !isOfEarlier && !isOfNext && !(await isFrom(file, position))) {
    const current = await openIfThere(name)
    const rotated = await rotatedSource(file, position, current)
    if (rotated === null) await current?.close()
    if (rotated !== null || (earlier ?? file).beganAfter !== undefined) {
      await Promise.all([handle, ...successors, ...(earlier ? [earlier.handle] : [])].map((one) => one.close()))
      if (rotated === null) throw new UnrepeatableFeed(name, explainLoss(name, position))
      return rotated
    }
    watcher?.onOtherFile(position)
  }
  if (earlier === null || !(isOfEarlier || position === null)) return followed({ ...file, successors }, from)
  const opened = { ...earlier, earlier: null, successors: [handle, ...successors] }
  return followed({ ...file, ...opened }, await startOf(earlier.handle, position, signal))
}

/** Tells whether a position belongs to a file, or to its beginning, which is the end of the file before. */
async function isFrom(file: FollowedFile['earlier'], position: FeedPosition | null): Promise<boolean> {
  if (file === null) return false
  const { handle, beganAfter } = file
  return (beganAfter !== undefined && isSamePosition(beganAfter, position)) || containsPosition(handle, position)
}

/** Explains why a file that replaced others cannot be continued. */
function explainLoss(name: string, { line }: FeedPosition): string {
  return (
    `they are of a file that stood at ${name} before, applied to its line ${line}, which is no longer there. Apply the ` +
    'files that stood there since, the oldest first, by npm run ingest, and start the gateway anew: what is known is skipped'
  )
}
