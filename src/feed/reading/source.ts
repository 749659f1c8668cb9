import { createReadStream } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { type FeedPosition, isSamePosition } from '../../database/write/feed.ts'
import { UnrepeatableFeed } from '../errors.ts'
import { atBeginning, holds, isAhead, startOf } from './file-position.ts'
import { growingFile, openFeed, type PathWatcher } from './growing-file.ts'
import type { Line, LineStart } from './lines.ts'
import type { SourceEnd } from '../reach.ts'
import { chunkBytes, counted, isGzip, type Progress, decompressed } from './decompress.ts'

/** Where facts come from: unpacked bytes, and how much of them there is. */
export interface Source {
  /** What its position is kept under, and what messages call it. */
  readonly name: string
  /** Where its first chunk begins. */
  readonly start: LineStart
  /** The position that its start goes by, up to which the feed must be applied; absent where that is its beginning. */
  readonly startsAfter?: FeedPosition
  /**
   * Opens it anew, for a database that holds less of it than was applied; absent where it can be read but once. A
   * followed file that took another one's place opens that one, where the position is of it.
   * @param applied how far the database has it
   * @param handledLine the last line of it that was handled: where the database is further, which it is by another
   * reading, a file is read from its beginning
   * @throws {UnrepeatableFeed} where the position is of a file that was left, which is no longer open
   */
  reopen?(applied: FeedPosition | null, handledLine: number): Promise<Source>
  readonly chunks: AsyncIterable<Buffer>
  readonly progress: Progress
  /** Whether its facts' times are not this machine's: those of blocks are their chain's consensus, and a local node's may be any. */
  readonly hasOwnTime?: boolean
  /** What is kept of how far it is with a line, where that is other than the line's number, end and digest. */
  positionAfter?(line: Line): FeedPosition
  /** Has a listener told each time that a source that grows was read to its end; it is read on when the listener is done. */
  onEnd?(listener: (end: SourceEnd) => Promise<void>): void
  /**
   * Opens the file that ended this one by taking its place.
   * @param applied how far the feed has been applied
   * @returns null where it ended by itself
   */
  next?(applied: FeedPosition | null): Promise<Source | null>
  /** Closes its files, unless `next` or `reopen` has handed them on. */
  close?(): Promise<void>
}

/**
 * A file, plain or gzipped, from its beginning to its end.
 * @param applied how far it is known to be applied: a plain file begins there, unless that part of it was replaced
 * @param progress of the same file, opened before
 */
export async function fileSource(
  file: string,
  applied: FeedPosition | null = null,
  progress: Progress | null = null,
): Promise<Source> {
  const name = path.resolve(file)
  return wholeFile(name, await openFeed(name), applied, progress)
}

async function wholeFile(
  name: string,
  handle: FileHandle,
  applied: FeedPosition | null = null,
  progress: Progress | null = null,
): Promise<Source> {
  const isPlain = applied !== null && !(await isPacked(handle))
  const from = isPlain ? await startOf(handle, applied) : atBeginning
  const { byte } = from.start
  const read = Object.assign(progress ?? noneOf((await handle.stat()).size), { bytesRead: byte, bytesUnpacked: byte })
  const bytes = createReadStream(name, { fd: handle, highWaterMark: chunkBytes, start: byte })
  const chunks = byte > 0 ? counted(bytes, read) : decompressed(bytes, name, read)
  const reopen = (position: FeedPosition | null, handledLine: number): Promise<Source> =>
    fileSource(name, isAhead(position, handledLine) ? null : position, read)
  return { name, ...from, chunks, progress: read, reopen }
}

/**
 * Standard input, plain or gzipped, to its end.
 * @param signal ends it while it waits for more
 */
export function inputSource(input: Readable, signal?: AbortSignal): Source {
  const name = 'standard input'
  const progress = noneOf(null)
  const chunks = signal === undefined ? input : endedBy(signal, input)
  return { name, ...atBeginning, chunks: decompressed(chunks, name, progress), progress }
}

/**
 * A plain file, from where it has been applied to, and on as it grows, until another one takes its place. A file whose
 * applied part was replaced is read from its beginning again. A gzipped file can't grow, so it is read to its end.
 * @param applied how far it has been applied before
 * @param signal ends it
 */
export async function followedSource(
  file: string,
  applied: FeedPosition | null,
  signal: AbortSignal,
  watcher?: PathWatcher,
): Promise<Source> {
  const name = path.resolve(file)
  const handle = await openFeed(name)
  // Where it isn't the file that was applied before, that one is nowhere to be found.
  const beganAfter = applied === null || (await holds(handle, applied)) ? undefined : applied
  return followed({ name, handle, beganAfter, earlier: null, successor: null, signal, watcher }, applied)
}

interface Followed {
  readonly name: string
  readonly handle: FileHandle
  /** The position of the file before it, after which it is read from its beginning; undefined where none is known. */
  readonly beganAfter: FeedPosition | null | undefined
  /** The file whose place it took, kept open for what a failover may lose of it. */
  readonly earlier: Pick<Followed, 'handle' | 'beganAfter'> | null
  /** The file that is known to have taken its place. */
  readonly successor: FileHandle | null
  readonly signal: AbortSignal
  readonly watcher: PathWatcher | undefined
}

async function followed(file: Followed, applied: FeedPosition | null): Promise<Source> {
  const { name, handle, beganAfter, earlier } = file
  if (await isPacked(handle)) {
    return packedSuccessor(file)
  }
  const from = await startOf(handle, applied)
  const progress = noneOf(null)
  let listener: (end: SourceEnd) => Promise<void> = () => Promise.resolve()
  const atEnd = (end: SourceEnd): Promise<void> => listener(end)
  const { chunks, takeSuccessor, wasReplaced } = growingFile({ ...file, from: from.start.byte, atEnd })
  return {
    ...{ name, ...from, chunks: counted(chunks, progress), progress },
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
      const isOfThis = await holds(handle, position)
      if (isOfThis) return followed({ ...file, successor }, isAhead(position, handledLine) ? null : position)
      const isOfEarlier = await isFrom(earlier, position)
      const isLost = !isOfEarlier && !(await isFrom(file, position)) && !(await holds(successor, position))
      if (position !== null && (earlier ?? file).beganAfter !== undefined && isLost) {
        await successor?.close()
        throw new UnrepeatableFeed(name, isLeft(name, position))
      }
      if (earlier === null || !(isOfEarlier || position === null)) return followed({ ...file, successor }, position)
      // It is opened by its path again when the earlier one is read.
      await successor?.close()
      return followed({ ...file, ...earlier, earlier: null, successor: handle }, position)
    },
    async close() {
      await Promise.all([handle.close(), earlier?.handle.close(), takeSuccessor()?.close()])
    },
  }
}

/** A gzipped file to its end, which is read again from its beginning where a failover loses some of it. */
async function packedSuccessor(file: Followed): Promise<Source> {
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

/** Whether a position is of a file, or of its beginning, which is where the file before it ended. */
async function isFrom(file: Followed['earlier'], position: FeedPosition | null): Promise<boolean> {
  if (file === null) return false
  const { handle, beganAfter } = file
  return (beganAfter !== undefined && isSamePosition(beganAfter, position)) || holds(handle, position)
}

/** Why a file that took other ones' place isn't read on. */
function isLeft(name: string, { line }: FeedPosition): string {
  return (
    `they are of a file that stood at ${name} before, applied to its line ${line}, which is no longer open. Apply the ` +
    'files that stood there since, the oldest first, by npm run ingest, and start the gateway anew: what is known is skipped'
  )
}

async function isPacked(handle: FileHandle): Promise<boolean> {
  return isGzip((await handle.read(Buffer.alloc(2), 0, 2, 0)).buffer)
}

function noneOf(bytesTotal: number | null): Progress {
  return { bytesRead: 0, bytesUnpacked: 0, bytesTotal }
}

async function* endedBy(signal: AbortSignal, input: Readable): AsyncGenerator<Buffer> {
  try {
    yield* addAbortSignal(signal, input) as AsyncIterable<Buffer>
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
