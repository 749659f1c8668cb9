import { type FileHandle, open, stat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { UnreadableFeed } from '../errors.ts'
import type { SourceEnd } from '../reach.ts'

const chunkBytes = 1024 * 1024
const newline = 0x0a
const pollMilliseconds = 200
/** A replaced file is closed when nothing was appended to it during this many polls: 1 s. */
const quietPolls = 5
/** A rotation leaves no file at the path for a moment: it is reported after this many polls, 5 s. */
const missingPolls = 25
/** Number of bytes before the current offset that each read compares, to detect changes in place. */
const comparedBytes = 1024

/** Observes whether there is a file at a followed path. */
export interface PathWatcher {
  onMissing(reason: string): void
  onFound(): void
  /**
   * Called at the start where the file at the path does not contain the line that was applied last: it is read from its
   * beginning.
   */
  onOtherFile(applied: { readonly line: number }): void
}

/** Options of {@link growingFile}. */
export interface GrowingFileOptions {
  readonly handle: FileHandle
  readonly name: string
  /** The file that has replaced it, where that is known. */
  readonly successor: FileHandle | null
  /** Offset to start at, in bytes. */
  readonly from: number
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
  /** Whether it ended because another file replaced it. */
  readonly wasReplaced: () => boolean
  /** The open file that replaces it; null where there is none. The caller must close it. */
  readonly takeSuccessor: () => FileHandle | null
}

/**
 * Reads a file as it grows. After it was renamed, removed or replaced, it is read until nothing is appended any more
 * and the file at its path has data, because a producer may write to the renamed file until it opens the new one. The
 * file stays open.
 */
export function growingFile(options: GrowingFileOptions): GrowingFile {
  const { handle, name, from, watcher, atEnd, signal } = options
  let { successor } = options
  let isOver = false
  async function* chunks(): AsyncGenerator<Buffer> {
    const watched = watchPath(name, watcher)
    let at = from
    let quiet = 0
    let last = await readTail(handle, at)
    while (!signal.aborted) {
      const lookedAtMilliseconds = performance.now()
      const chunk = await readAppended(handle, name, at, last)
      if (chunk.length > 0) {
        at += chunk.length
        last = tailOf(last, chunk)
        quiet = 0
        yield chunk
        continue
      }
      const leads = await watched.leadsTo(successor ?? handle)
      const isElsewhere = leads === 'another file'
      const isWithinLine = last.length > 0 && last.at(-1) !== newline
      if (successor === null && leads === 'this file') await atEnd({ lookedAtMilliseconds, isWithinLine })
      if (isElsewhere && successor === null) successor = await openIfThere(name)
      else if (successor !== null && ++quiet >= quietPolls) isOver = isElsewhere || (await successor.stat()).size > 0
      if (isOver) return
      await wait(pollMilliseconds, undefined, { signal }).catch(() => undefined)
    }
  }
  return {
    chunks: chunks(),
    wasReplaced: () => isOver,
    takeSuccessor() {
      const taken = successor
      successor = null
      return taken
    },
  }
}

/** Opens the file at a path; null where there is none at the moment. */
async function openIfThere(name: string): Promise<FileHandle | null> {
  try {
    return await openFeed(name)
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw error
  }
}

/**
 * Opens a feed's file.
 * @throws {UnreadableFeed} when it cannot be opened or is not a regular file
 */
export async function openFeed(name: string): Promise<FileHandle> {
  let isFile: boolean
  try {
    // Checked before opening, because opening a named pipe waits for its writer.
    isFile = (await stat(name)).isFile()
    if (isFile) return await open(name, 'r')
  } catch (error) {
    throw new UnreadableFeed(name, `can't be opened: ${(error as Error).message}`, { cause: error })
  }
  throw new UnreadableFeed(name, 'is not a file')
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

/** Reads appended data; empty where there is none. */
async function readAppended(handle: FileHandle, name: string, at: number, last: Buffer): Promise<Buffer> {
  const length = last.length + chunkBytes
  const { bytesRead, buffer } = await handle
    .read(Buffer.alloc(length), 0, length, at - last.length)
    .catch((error: unknown) => Promise.reject(new UnreadableFeed(name, `can't be read: ${(error as Error).message}`)))
  if (bytesRead < last.length) throw new UnreadableFeed(name, truncatedMessage)
  if (!buffer.subarray(0, last.length).equals(last)) throw new UnreadableFeed(name, rewrittenMessage)
  return buffer.subarray(last.length, bytesRead)
}

/** Lines appended between the last read and the truncation exist only in a copy, whose path is unknown here. */
const truncatedMessage =
  'has become shorter than what was read, and lines written just before that may be in its copy alone. Apply the copy ' +
  'by npm run ingest, start the gateway anew, and rotate by renaming (of logrotate create, not copytruncate)'
const rewrittenMessage =
  'was rewritten in place: what stands where it was read is something else now. Start the gateway anew to have it read ' +
  'from its beginning, and put another file there by renaming'

async function readTail(handle: FileHandle, end: number): Promise<Buffer> {
  const length = Math.min(end, comparedBytes)
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, end - length)
  return buffer.subarray(0, bytesRead)
}

function tailOf(last: Buffer, chunk: Buffer): Buffer {
  return Buffer.concat([last, chunk.subarray(-comparedBytes)]).subarray(-comparedBytes)
}
