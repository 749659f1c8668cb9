import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { type FeedPosition, isSamePosition } from '../../database/write/feed.ts'
import { UnrepeatableFeed } from '../errors.ts'
import type { SourceEnd } from '../reach.ts'
import { countBytes } from './decompress.ts'
import { containsPosition, isAhead, startOf } from './file-position.ts'
import { growingFile, openFeed, type PathWatcher } from './growing-file.ts'
import { fileSource, isGzipFile, noProgress, type ByteSource, wholeFile } from './source.ts'

/**
 * Opens an uncompressed file that is read as it grows, until another one replaces it. It starts at the applied
 * position, or at its beginning where the applied part has changed. A gzipped file cannot grow, and is read to its end.
 * @param applied position of the feed in the database
 * @param signal ends reading
 * @param watcher observes whether there is a file at the path
 * @throws {UnreadableFeed} when it cannot be opened
 */
export async function followedSource(
  file: string,
  applied: FeedPosition | null,
  signal: AbortSignal,
  watcher?: PathWatcher,
): Promise<ByteSource> {
  const name = path.resolve(file)
  const handle = await openFeed(name)
  // Where this is not the file that was applied before, that file is not available.
  const isOther = applied !== null && !(await containsPosition(handle, applied))
  const beganAfter = isOther ? applied : undefined
  if (isOther && !(await isGzipFile(handle))) watcher?.onOtherFile(applied)
  return followed({ name, handle, beganAfter, earlier: null, successor: null, signal, watcher }, applied)
}

interface FollowedFile {
  readonly name: string
  readonly handle: FileHandle
  /** Position of the previous file, after which this one starts; undefined where it is unknown. */
  readonly beganAfter: FeedPosition | null | undefined
  /** The file that it replaced, kept open because a failover may lose facts of it. */
  readonly earlier: Pick<FollowedFile, 'handle' | 'beganAfter'> | null
  /** The file that has replaced it, where that is known. */
  readonly successor: FileHandle | null
  readonly signal: AbortSignal
  readonly watcher: PathWatcher | undefined
}

async function followed(file: FollowedFile, applied: FeedPosition | null): Promise<ByteSource> {
  const { name, handle, beganAfter, earlier } = file
  if (await isGzipFile(handle)) {
    return gzippedSuccessor(file)
  }
  const from = await startOf(handle, applied)
  const progress = noProgress(null)
  let listener: (end: SourceEnd) => Promise<void> = () => Promise.resolve()
  const atEnd = (end: SourceEnd): Promise<void> => listener(end)
  const { chunks, takeSuccessor, wasReplaced } = growingFile({ ...file, from: from.start.byte, atEnd })
  return {
    ...{ name, ...from, chunks: countBytes(chunks, progress), progress },
    onEnd: (given) => void (listener = given),
    async next(position) {
      const successor = wasReplaced() ? takeSuccessor() : null
      if (successor === null) return null
      await earlier?.handle.close()
      const left = { handle, beganAfter }
      return followed({ ...file, handle: successor, beganAfter: position, earlier: left, successor: null }, position)
    },
    async reopen(position, handledLine) {
      const successor = takeSuccessor()
      const isOfThis = await containsPosition(handle, position)
      if (isOfThis) return followed({ ...file, successor }, isAhead(position, handledLine) ? null : position)
      const isOfEarlier = await isFrom(earlier, position)
      const isLost = !isOfEarlier && !(await isFrom(file, position)) && !(await containsPosition(successor, position))
      if (position !== null && (earlier ?? file).beganAfter !== undefined && isLost) {
        await successor?.close()
        throw new UnrepeatableFeed(name, explainLoss(name, position))
      }
      if (earlier === null || !(isOfEarlier || position === null)) return followed({ ...file, successor }, position)
      // It is opened by its path again after the earlier file.
      await successor?.close()
      return followed({ ...file, ...earlier, earlier: null, successor: handle }, position)
    },
    async close() {
      await Promise.all([handle.close(), earlier?.handle.close(), takeSuccessor()?.close()])
    },
  }
}

/**
 * Returns a source for a gzipped file that replaced another one; after a failover it is read again from its beginning.
 */
async function gzippedSuccessor(file: FollowedFile): Promise<ByteSource> {
  const { name, handle, earlier } = file
  const source = await wholeFile(name, handle)
  if (earlier === null) return source
  return {
    ...source,
    async reopen(position) {
      if (position !== null && !(await isFrom(earlier, position))) {
        await earlier.handle.close()
        return fileSource(name, null, source.progress)
      }
      return followed({ ...file, ...earlier, earlier: null, successor: await openFeed(name) }, position)
    },
    close: () => earlier.handle.close(),
  }
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
    `they are of a file that stood at ${name} before, applied to its line ${line}, which is no longer open. Apply the ` +
    'files that stood there since, the oldest first, by npm run ingest, and start the gateway anew: what is known is skipped'
  )
}
