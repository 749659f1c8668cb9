import type { FileHandle } from 'node:fs/promises'
import { digestOfFile } from '../file-position.ts'
import type { PathWatcher } from '../growing-file.ts'
import type { PrefixDigest } from '../prefix-digest.ts'
import { fileVersion, isSameFile } from './file-identity.ts'
import { createdNs, type FileTimes } from './candidates.ts'
import { openRotated, unread } from './rotated-files.ts'

/** Options of {@link openMissed}. */
interface MissedFilesOptions {
  /** Path of the feed. */
  readonly name: string
  /** The file that is read. */
  readonly handle: FileHandle
  /** Digest of everything that was read of it. */
  readonly digest: PrefixDigest
  /** Time of its last change when it was seen at the path last, in nanoseconds. */
  readonly sinceNs: bigint
  readonly successor: FileHandle
  /** Versions of the files that were read to their end, and digests of their contents. */
  readonly finished: ReadonlySet<string>
  readonly signal: AbortSignal
  readonly watcher: PathWatcher | undefined
}

/**
 * Opens the files that stood at the path for so short a time that they were never seen there, as two rotations leave
 * them, or while the feed waited for the database.
 * @returns open files, the oldest first, which the caller must close
 */
export async function openMissed(options: MissedFilesOptions): Promise<readonly FileHandle[]> {
  const { name, handle, digest, sinceNs, successor, finished, signal, watcher } = options
  const read = digest.fingerprint()
  const wasRead = async (one: FileHandle): Promise<boolean> =>
    (await isSameFile(one, handle)) ||
    finished.has(await fileVersion(one)) ||
    // A compressed copy, in place of the file itself: a file that only begins like it has more.
    [read, ...finished].includes((await digestOfFile(one, signal)) ?? '')
  const createdAtNs = createdNs(await handle.stat({ bigint: true }))
  const isLater = ({ begunNs, mtimeNs }: FileTimes): boolean =>
    mtimeNs >= sinceNs || (createdAtNs !== null && begunNs >= createdAtNs)
  const missed = await openRotated(name, [successor], unread(isLater, wasRead))
  if (missed.length > 0) watcher?.onRotated(missed.map((each) => each.path))
  return missed.map((each) => each.handle)
}
