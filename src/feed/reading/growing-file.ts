import type { FileHandle } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type { SourceEnd } from '../read-until.ts'
import type { ContentReader } from './content-reader.ts'
import type { InPlaceChangeDetector } from './in-place-changes.ts'
import { openIfThere } from './open-file.ts'
import { type PathAbsence, watchPath, type WatchedPath } from './rotation/watched-path.ts'

const pollMilliseconds = 200
/** A replaced file is closed when nothing was appended to it during this time. */
const quietMilliseconds = 1_000
/** One that is still written to is closed after this time: lines that come later are read late. */
const maxMilliseconds = 3_000
/** One whose last line is extended at each poll is closed after this time: that line is read late as a whole. */
const maxMillisecondsWithinLine = 2 * maxMilliseconds

/** Observes the file at a followed path. */
export interface PathWatcher {
  onMissing(reason: string): void
  onFound(): void
  /**
   * Called where the file at the path does not contain what was applied, nor does one beside it: it is read from its
   * beginning, after those beside it.
   */
  onOtherFile(stored: { readonly line: number }): void
  /**
   * Called where files beside the one at the path are read before it.
   * @param files their paths, the oldest first
   */
  onRotated(files: readonly string[]): void
  /** Called with a file that is still written to, and is read no more since two others have taken its place. */
  onLeft(file: string): void
  /** Called where the file was changed in place before the line that was read last: it is read from its beginning. */
  onChangedInPlace(): void
  /** Called where the file before this one was written to after this one was begun: the rest of it is read. */
  onLateLines(): void
  /** Called at the end of a gzipped file, which cannot grow; another one at its path is read on. */
  onGzipEnd(): void
}

/** Options of {@link growingFile}. */
export interface GrowingFileOptions {
  readonly handle: FileHandle
  readonly name: string
  readonly reader: ContentReader
  /** Detects changes of what was read; null where these cannot happen. */
  readonly inPlaceChanges: InPlaceChangeDetector | null
  /** The files that have replaced it, the oldest first, where these are known. */
  readonly successors: readonly FileHandle[]
  /**
   * Opens the files that stood at the path between it and its successor, and were never seen there, the oldest first.
   * @param sinceNs time of its last change, in nanoseconds, when it was seen at the path last
   */
  readonly openMissed: (successor: FileHandle, sinceNs: bigint) => Promise<readonly FileHandle[]>
  /** Called each time everything available was read: a detour that has left it ends here. */
  readonly endDetour: () => void
  /** Tells whether the file before it was written to after it was left. */
  readonly hasLateLines: () => Promise<boolean>
  /**
   * Takes a detour to that file, if it may be left for it now.
   * @param isLast whether it is left for another one now, and the file before it is closed then
   * @returns whether it is left for the file before it
   */
  readonly takeDetour: (isLast: boolean) => boolean
  readonly watcher: PathWatcher | undefined
  readonly absence: PathAbsence
  /** Called each time the end was reached while it was the file at its path: everything available was read. */
  readonly onEnd: (end: SourceEnd) => Promise<void>
  /** Ends reading. */
  readonly signal: AbortSignal
}

/** Why reading a file ended, where another one is read on, or the same one again. */
export type Ending = 'replaced' | 'changed in place' | 'late lines'

/** A file that is read while it grows, until another one replaces it. */
export interface GrowingFile {
  /** @throws {UnreadableFeed} when it is truncated or rewritten in place */
  readonly chunks: AsyncIterable<Buffer>
  /** Whether all was read, and nothing can be appended, so that a last line without newline is whole. An empty chunk follows. */
  readonly hasEnded: () => boolean
  /** Why it ended; null where it was aborted. */
  readonly ending: () => Ending | null
  /** Whether it was left while its last line was still extended: the rest of it is late, or it is read again. */
  readonly isCut: () => boolean
  /** The open files that replace it, the oldest first. The caller must close them. */
  readonly takeSuccessors: () => readonly FileHandle[]
}

/** A read at the end of the available bytes. */
interface ReadAttempt {
  readonly hasRead: boolean
  /** When it began, in milliseconds of performance.now(). */
  readonly lookedAtMilliseconds: number
}

/** Time in which a file that has a successor was polled, in milliseconds; the time in which a chunk is applied does not count. */
class PolledTime {
  /** Since the last bytes came. */
  quiet = 0
  all = 0
  #polledAt = performance.now()

  onPoll(hasSuccessor: boolean, hasRead: boolean): void {
    const now = performance.now()
    const elapsed = hasSuccessor ? Math.min(now - this.#polledAt, pollMilliseconds) : 0
    this.#polledAt = now
    this.quiet = hasRead ? 0 : this.quiet + elapsed
    this.all += elapsed
  }
}

/**
 * Reads a file as it grows. After it was renamed, removed or replaced, it is read until nothing is appended any more, or
 * for some time, and the file at its path has data, or one that stood there in between is found, because a producer may
 * write to the renamed file until it opens the new one. The file stays open.
 */
export function growingFile(options: GrowingFileOptions): GrowingFile {
  const { name, reader, inPlaceChanges, onEnd, signal } = options
  let { successors } = options
  let ending: Ending | null = null
  let isCut = false
  let hasLookedForMissed = false
  /** Opens, once, the files that stood at the path between it and its successor, where these are not known. */
  const openMissed = async (sinceNs: bigint): Promise<void> => {
    const [successor, ...others] = successors
    if (hasLookedForMissed || successor === undefined || others.length > 0) return
    successors = [...(await options.openMissed(successor, sinceNs)), successor]
    hasLookedForMissed = true
  }
  /** Tells whether no more bytes are awaited of it, now that it has a successor. */
  const isWaitOver = ({ quiet, all }: PolledTime): boolean =>
    quiet >= quietMilliseconds || all >= (reader.isWithinLine() ? maxMillisecondsWithinLine : maxMilliseconds)
  /** Tells whether a successor is to be read: a single one that stands at the path may have nothing yet. */
  const isSuccessorReady = async (isElsewhere: boolean): Promise<boolean> => {
    const [successor, ...others] = successors
    return successor !== undefined && (isElsewhere || others.length > 0 || (await successor.stat()).size > 0)
  }
  const detectChange = async (isLast: boolean): Promise<boolean> => {
    if ((await inPlaceChanges?.detect(isLast)) !== true) return false
    // The next read would find that it was truncated or rewritten: lines may be lost, which reading again would hide.
    if (!isLast) await reader.verify()
    return true
  }
  /**
   * Looks where the path leads, opens the file that has replaced this one, and ends this one once that can be read.
   * @returns whether all that is available was read, and more would be appended to this file
   */
  const lookForSuccessor = async (watched: WatchedPath, polled: PolledTime, hasRead: boolean): Promise<boolean> => {
    const [successor = null] = successors
    polled.onPoll(successor !== null, hasRead)
    const leads = await watched.leadsTo(successor)
    const isElsewhere = leads === 'another file'
    const opened = successor === null && isElsewhere ? await openIfThere(name) : null
    if (opened !== null) successors = [opened]
    const isOver = successor !== null && isWaitOver(polled)
    if (isOver) await openMissed(watched.seenAtNs())
    isCut = isOver && reader.isWithinLine() && polled.quiet < quietMilliseconds
    if (isOver && (await isSuccessorReady(isElsewhere))) ending = 'replaced'
    // An empty file at the path has no more than this one.
    const isNewest = successor === null || polled.quiet >= quietMilliseconds
    return leads === 'this file' && ending === null && isNewest
  }
  /** Does what is due at the end of the available bytes, at most once in a poll's time, and finds out whether reading ends. */
  const poll = async (watched: WatchedPath, polled: PolledTime, read: ReadAttempt): Promise<void> => {
    const isAtEnd = await lookForSuccessor(watched, polled, read.hasRead)
    options.endDetour()
    const isLate = await options.hasLateLines()
    const { lookedAtMilliseconds } = read
    if (isAtEnd && !isLate) await onEnd({ lookedAtMilliseconds, isWithinLine: reader.isWithinLine() })
    if (await detectChange(ending !== null)) ending = 'changed in place'
    else if (isLate && !reader.isWithinLine() && options.takeDetour(ending !== null)) ending = 'late lines'
  }
  async function* chunks(): AsyncGenerator<Buffer> {
    const watched = await watchPath(options)
    const polled = new PolledTime()
    let nextPollAt = performance.now() + pollMilliseconds
    try {
      while (!signal.aborted) {
        const lookedAtMilliseconds = performance.now()
        const chunk = await reader.read()
        const hasRead = chunk.length > 0
        if (hasRead) polled.quiet = 0
        if (hasRead || reader.hasEnded()) yield chunk
        // While every read finds more, the path is looked at as often as otherwise.
        if (hasRead && (!reader.isAtEnd() || performance.now() < nextPollAt)) continue
        nextPollAt = performance.now() + pollMilliseconds
        await poll(watched, polled, { hasRead, lookedAtMilliseconds })
        if (ending !== null) return
        if (!hasRead) await wait(pollMilliseconds, undefined, { signal }).catch(() => undefined)
      }
    } finally {
      await reader.close()
    }
  }
  return {
    chunks: chunks(),
    hasEnded: () => reader.hasEnded(),
    ending: () => ending,
    // A file that changed in place is read again from its beginning.
    isCut: () => ending === 'changed in place' || (ending === 'replaced' && isCut),
    takeSuccessors() {
      const taken = successors
      successors = []
      return taken
    },
  }
}
