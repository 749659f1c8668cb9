import type { BigIntStats } from 'node:fs'
import { type FileHandle, readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { UnreadableFeed } from '../../errors.ts'

/** Tells whether two handles are of one file. */
export async function isSameFile(one: FileHandle, other: FileHandle): Promise<boolean> {
  const [first, second] = await Promise.all([one.stat({ bigint: true }), other.stat({ bigint: true })])
  return inodeOf(first) === inodeOf(second)
}

/** Returns what tells a file, as it was written to last, from others; numbers of removed files are given again. */
export async function fileVersion(handle: FileHandle): Promise<string> {
  const stats = await handle.stat({ bigint: true })
  return `${inodeOf(stats)} ${stats.mtimeNs}`
}

/** Tells whether a path leads to an open file. */
export async function isAt(name: string, handle: FileHandle): Promise<boolean> {
  const there = await statsOf(name)
  return there !== null && inodeOf(there) === inodeOf(await handle.stat({ bigint: true }))
}

/** Returns the path of a file that is read, which may have been renamed since it was opened. */
export async function readName(name: string, handle: FileHandle): Promise<string> {
  return (await pathOf(name, handle)) ?? `A file that stood at ${name} before and was removed`
}

/** Yields the chunks of a file, and names that in their errors. */
export async function* withReadName(
  chunks: AsyncIterable<Buffer>,
  name: string,
  handle: FileHandle,
): AsyncGenerator<Buffer> {
  try {
    yield* chunks
  } catch (error) {
    if (!(error instanceof UnreadableFeed)) throw error
    throw new UnreadableFeed(await readName(name, handle), error.reason, { cause: error.cause })
  }
}

/** Returns the path of an open file of a feed, at the feed's path or beside it; null where it was removed. */
export async function pathOf(name: string, handle: FileHandle): Promise<string | null> {
  const inode = inodeOf(await handle.stat({ bigint: true }))
  const entries = await readdir(path.dirname(name)).catch(() => [])
  for (const file of [name, ...entries.map((entry) => path.join(path.dirname(name), entry))]) {
    const stats = await statsOf(file)
    if (stats !== null && inodeOf(stats) === inode) return file
  }
  return null
}

/** Returns the state of the file at a path; null where there is none. */
function statsOf(file: string): Promise<BigIntStats | null> {
  return stat(file, { bigint: true }).catch(() => null)
}

/** Returns what tells a file from all others that exist at the time. */
export function inodeOf({ dev, ino }: BigIntStats): string {
  return `${dev} ${ino}`
}
