import { type FileHandle, open, stat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { UnreadableFeed } from '../errors.ts'
import type { SourceEnd } from '../reach.ts'

const chunkBytes = 1024 * 1024
const pollMilliseconds = 200
/** A file that was replaced is left when nothing has been appended to it for so many polls: 1 s. */
const quietPolls = 5
/** A rotation leaves the path without a file for a moment; after so many polls, 5 s, it is told. */
const missingPolls = 25
/** So much of what was read last is compared at each read with what stands there now. */
const comparedBytes = 1024

/** Is told of a followed path that leads to no file. */
export interface PathWatcher {
  onMissing(reason: string): void
  onFound(): void
}

export interface GrowingFileOptions {
  readonly handle: FileHandle
  readonly name: string
  /** The file that is known to have taken its place. */
  readonly successor: FileHandle | null
  /** Bytes of it that are left out. */
  readonly from: number
  readonly watcher: PathWatcher | undefined
  /** Is told each time that it was read to its end while it was the file at its path: what it has given is all there is. */
  readonly atEnd: (end: SourceEnd) => Promise<void>
  /** Ends it. */
  readonly signal: AbortSignal
}

/** A file that is read as it grows, until another one stands at its path. */
export interface GrowingFile {
  /** @throws {UnreadableFeed} where it is truncated or rewritten in place */
  readonly chunks: AsyncIterable<Buffer>
  /** Whether it has ended because another file took its place. */
  readonly wasReplaced: () => boolean
  /** The file that takes its place, open, where there is one; whoever takes it closes it. */
  readonly takeSuccessor: () => FileHandle | null
}

/**
 * Reads a file as it grows. Where it is renamed, removed or replaced, it is read on until nothing is appended to it any
 * more and the file at its path has bytes: a producer may write to the renamed one until it opens the new one. The file
 * stays open.
 */
export function growingFile(options: GrowingFileOptions): GrowingFile {
  const { handle, name, from, watcher, atEnd, signal } = options
  let { successor } = options
  let isOver = false
  async function* chunks(): AsyncGenerator<Buffer> {
    const watched = watchedPath(name, watcher)
    let at = from
    let quiet = 0
    let last = await lastBytes(handle, at)
    while (!signal.aborted) {
      const lookedAtMilliseconds = performance.now()
      const chunk = await grown(handle, name, at, last)
      if (chunk.length > 0) {
        at += chunk.length
        last = endOf(last, chunk)
        quiet = 0
        yield chunk
        continue
      }
      const leads = await watched.leadsTo(successor ?? handle)
      const isElsewhere = leads === 'another file'
      if (successor === null && leads === 'this file') await atEnd({ lookedAtMilliseconds })
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

/** Opens the file at a path; null where it has just been taken away. */
async function openIfThere(name: string): Promise<FileHandle | null> {
  try {
    return await openFeed(name)
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw error
  }
}

/** @throws {UnreadableFeed} */
export async function openFeed(name: string): Promise<FileHandle> {
  let isFile: boolean
  try {
    // Opening a pipe would wait for its writer.
    isFile = (await stat(name)).isFile()
    if (isFile) return await open(name, 'r')
  } catch (error) {
    throw new UnreadableFeed(name, `can't be opened: ${(error as Error).message}`, { cause: error })
  }
  throw new UnreadableFeed(name, 'is not a file')
}

/** Whether a path still leads to the file that is open, and for how long it has led to none. */
function watchedPath(name: string, watcher: PathWatcher | undefined) {
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

/** What has been appended; nothing where nothing has. */
async function grown(handle: FileHandle, name: string, at: number, last: Buffer): Promise<Buffer> {
  const length = last.length + chunkBytes
  const { bytesRead, buffer } = await handle
    .read(Buffer.alloc(length), 0, length, at - last.length)
    .catch((error: unknown) => Promise.reject(new UnreadableFeed(name, `can't be read: ${(error as Error).message}`)))
  if (bytesRead < last.length) throw new UnreadableFeed(name, wasTruncated)
  if (!buffer.subarray(0, last.length).equals(last)) throw new UnreadableFeed(name, wasRewritten)
  return buffer.subarray(last.length, bytesRead)
}

/** Lines appended between the last read and the truncation are nowhere but in a copy that only its maker knows. */
const wasTruncated =
  'has become shorter than what was read, and lines written just before that may be in its copy alone. Apply the copy ' +
  'by npm run ingest, start the gateway anew, and rotate by renaming (of logrotate create, not copytruncate)'
const wasRewritten =
  'was rewritten in place: what stands where it was read is something else now. Start the gateway anew to have it read ' +
  'from its beginning, and put another file there by renaming'

async function lastBytes(handle: FileHandle, end: number): Promise<Buffer> {
  const length = Math.min(end, comparedBytes)
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, end - length)
  return buffer.subarray(0, bytesRead)
}

function endOf(last: Buffer, chunk: Buffer): Buffer {
  return Buffer.concat([last, chunk.subarray(-comparedBytes)]).subarray(-comparedBytes)
}
