import { type FileHandle, stat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type { SourceEnd } from '../reach.ts'
import type { ContentReader } from './content-reader.ts'
import type { InPlaceChanges } from './in-place-changes.ts'
import { openIfThere } from './open-file.ts'

const pollMilliseconds = 200
/** A replaced file is closed when nothing was appended to it during this many polls: 1 s. */
const quietPolls = 5
/** A rotation leaves no file at the path for a moment: it is reported after this many polls, 5 s. */
const missingPolls = 25

/** Observes the file at a followed path. */
export interface PathWatcher {
  onMissing(reason: string): void
  onFound(): void
  /**
   * Called where the file at the path does not hold what was applied, nor does one beside it: it is read from its
   * beginning.
   */
  onOtherFile(stored: { readonly line: number }): void
  /**
   * Called where files beside the one at the path are read before it.
   * @param files their paths, the oldest first
   */
  onRotated(files: readonly string[]): void
  /** Called where the file was changed in place before the line that was read last: it is read from its beginning. */
  onChangedInPlace(): void
  /** Called at the end of a gzipped file, which cannot grow; another one at its path is read on. */
  onGzipEnd(): void
}

/** Options of {@link growingFile}. */
export interface GrowingFileOptions {
  readonly handle: FileHandle
  readonly name: string
  readonly reader: ContentReader
  /** Detects changes of what was read; null where these cannot happen. */
  readonly changes: InPlaceChanges | null
  /** The file that has replaced it, where that is known. */
  readonly successor: FileHandle | null
  readonly watcher: PathWatcher | undefined
  /** Called each time the end was reached while it was the file at its path: everything available was read. */
  readonly atEnd: (end: SourceEnd) => Promise<void>
  /** Ends reading. */
  readonly signal: AbortSignal
}

/** A file that is read while it grows, until another one replaces it. */
export interface GrowingFile {
  /** @throws {UnreadableFeed} when it is truncated or rewritten in place */
  readonly chunks: AsyncIterable<Buffer>
  /** Why it ended; null where it was aborted. */
  readonly ending: () => 'replaced' | 'changed in place' | null
  /** The open file that replaces it; null where there is none. The caller must close it. */
  readonly takeSuccessor: () => FileHandle | null
}

/**
 * Reads a file as it grows. After it was renamed, removed or replaced, it is read until nothing is appended any more
 * and the file at its path has data, because a producer may write to the renamed file until it opens the new one. The
 * file stays open.
 */
export function growingFile(options: GrowingFileOptions): GrowingFile {
  const { handle, name, reader, changes, watcher, atEnd, signal } = options
  let { successor } = options
  let ending: 'replaced' | 'changed in place' | null = null
  async function* chunks(): AsyncGenerator<Buffer> {
    const watched = watchPath(name, watcher)
    let quiet = 0
    try {
      while (!signal.aborted) {
        const lookedAtMilliseconds = performance.now()
        const chunk = await reader.read()
        if (chunk.length > 0) {
          quiet = 0
          yield chunk
          continue
        }
        const leads = await watched.leadsTo(successor ?? handle)
        const isElsewhere = leads === 'another file'
        const isWithinLine = reader.isWithinLine()
        if (successor === null && leads === 'this file') await atEnd({ lookedAtMilliseconds, isWithinLine })
        if (isElsewhere && successor === null) successor = await openIfThere(name)
        else if (successor !== null && ++quiet >= quietPolls && (isElsewhere || (await successor.stat()).size > 0))
          ending = 'replaced'
        if ((await changes?.wereFound(ending !== null)) === true) ending = 'changed in place'
        if (ending !== null) return
        await wait(pollMilliseconds, undefined, { signal }).catch(() => undefined)
      }
    } finally {
      await reader.close()
    }
  }
  return {
    chunks: chunks(),
    ending: () => ending,
    takeSuccessor() {
      const taken = successor
      successor = null
      return taken
    },
  }
}

/** Watches whether a path leads to the open file, and for how many polls it has led to none. */
function watchPath(name: string, watcher: PathWatcher | undefined) {
  let missing = 0
  return {
    async leadsTo(handle: FileHandle): Promise<'this file' | 'another file' | 'none'> {
      try {
        const [there, here] = await Promise.all([stat(name, { bigint: true }), handle.stat({ bigint: true })])
        if (missing >= missingPolls) watcher?.onFound()
        missing = 0
        return there.ino === here.ino && there.dev === here.dev ? 'this file' : 'another file'
      } catch (error) {
        if (++missing === missingPolls) watcher?.onMissing((error as Error).message)
        return 'none'
      }
    },
  }
}
