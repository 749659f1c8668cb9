import { type FileHandle, open, stat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { UnreadableFeed } from '../errors.ts'
import { chunkBytes, decompress, isGzip, noBytesYet } from './decompress.ts'

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

/**
 * Opens the file at a path; null where there is none at the moment.
 * @throws {UnreadableFeed} when it cannot be opened or is not a regular file
 */
export async function openIfThere(name: string): Promise<FileHandle | null> {
  try {
    return await openFeed(name)
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw error
  }
}

/** Closes open files. */
export async function closeAll(handles: readonly FileHandle[]): Promise<void> {
  await Promise.all(handles.map((each) => each.close()))
}

const lastingFaults: readonly string[] = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM']
const maxTries = 10
const pauseMilliseconds = 200

/** Repeats work for some seconds after faults that may pass, such as too many open files, or those of a network file system. */
export async function retryPassingFaults<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (lastingFaults.includes(code) || tries === maxTries) throw error
    }
    await wait(pauseMilliseconds)
  }
}

/** Tells whether a file starts with the gzip magic number. */
export async function isGzipFile(handle: FileHandle): Promise<boolean> {
  return isGzip((await handle.read(Buffer.alloc(2), 0, 2, 0)).buffer)
}

/**
 * Reads an open file to its end, which leaves it open.
 * @param from offset of the first byte
 * @param to offset to end at, in bytes
 */
export async function* readBytes(handle: FileHandle, from = 0, to = Infinity): AsyncGenerator<Buffer> {
  for (let at = from; at < to;) {
    const length = Math.min(chunkBytes, to - at)
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Yields the contents of an open file, uncompressed or gzipped, which stays open. */
export async function* contentsOf(handle: FileHandle): AsyncGenerator<Buffer> {
  const bytes = readBytes(handle)
  yield* (await isGzipFile(handle)) ? decompress(bytes, 'The file', noBytesYet(null)) : bytes
}

/** Returns the end of the first line that ends after an offset; the size where none does. */
export async function lineStartAfter(handle: FileHandle, from: number, size: number): Promise<number> {
  let at = from
  for await (const chunk of readBytes(handle, from, size)) {
    const end = chunk.indexOf('\n')
    if (end >= 0) return at + end + 1
    at += chunk.length
  }
  return size
}
