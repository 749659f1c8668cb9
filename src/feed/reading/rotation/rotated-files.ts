import type { FileHandle } from 'node:fs/promises'
import { UnreadableFeed } from '../../errors.ts'
import {
  type FileTimes,
  type RotationCandidate,
  openCandidates,
  type RotatedFile,
  type Unreadable,
} from './candidates.ts'
import { inodeOf, isAt } from './file-identity.ts'

/**
 * Chooses the files to read, the oldest first, of those that were begun before the feed's, the newest first.
 * @param demandReadable throws {UnreadableFeed} where one with a number or a date in its name that may have facts by its times
 *   cannot be opened; without a condition, where any cannot
 */
export type RotatedFileChoice = (
  files: readonly RotationCandidate[],
  demandReadable: (mayHaveFacts?: (times: FileTimes) => boolean) => void,
) => Promise<readonly RotationCandidate[]>

/** Chooses all files with a number or a date in their name. */
export const allGenerations: RotatedFileChoice = async (files, demandReadable) => {
  demandReadable(() => true)
  return Promise.resolve(generationsOf(files))
}

/**
 * Returns a choice of the newest file that fulfils a condition, and of those with a number or a date in their name that
 * were begun after it, or written since a time.
 * @param sinceNs time of change, in nanoseconds; null where none counts
 */
export function fromNewest(
  sinceNs: bigint | null,
  isFirst: (handle: FileHandle) => Promise<boolean>,
): RotatedFileChoice {
  return async (files, demandReadable) => {
    for (const [at, file] of files.entries()) {
      if (!(await isFirst(file.handle))) continue
      const isNewer = (one: RotationCandidate): boolean => files.indexOf(one) < at
      const isUnread = ({ mtimeNs }: FileTimes): boolean => sinceNs !== null && mtimeNs >= sinceNs
      demandReadable((one) => one.begunNs >= file.begunNs || isUnread(one))
      const others = generationsOf(files.filter((one) => one !== file && (isNewer(one) || isUnread(one))))
      // The file that is read last is watched for late lines: the newest one.
      return others.length === 0 || others.some(isNewer) ? [file, ...others] : [file, ...others, file]
    }
    demandReadable()
    return []
  }
}

/**
 * Returns a choice of the oldest file with a number or a date in its name that was written since a time and fulfils a
 * condition, and of those after it.
 * @param sinceNs time of change, in nanoseconds, since when they must be readable; null where all count, and none must be
 */
export function fromOldest(
  sinceNs: bigint | null,
  isFirst: (handle: FileHandle) => Promise<boolean>,
): RotatedFileChoice {
  return async (files, demandReadable) => {
    if (sinceNs !== null) demandReadable(({ mtimeNs }) => mtimeNs >= sinceNs)
    const written = generationsOf(files).filter(({ mtimeNs }) => mtimeNs >= (sinceNs ?? 0n))
    for (const [at, file] of written.entries()) if (await isFirst(file.handle)) return written.slice(at)
    return []
  }
}

/**
 * Returns a choice of the files with a number or a date in their name that may have lines which were not read.
 * @param mayHaveLines tells it by their times
 * @param wasRead tells whether a file was read already, itself or by a copy of it; without it none was
 */
export function unread(
  mayHaveLines: (times: FileTimes) => boolean,
  wasRead?: (file: FileHandle) => Promise<boolean>,
): RotatedFileChoice {
  return async (files, demandReadable) => {
    demandReadable(mayHaveLines)
    const chosen: RotationCandidate[] = []
    for (const file of generationsOf(files)) {
      if (mayHaveLines(file) && (await wasRead?.(file.handle)) !== true) chosen.push(file)
    }
    return chosen
  }
}

/**
 * Returns a choice of the file with a number or a date in its name that was begun last.
 * @param sinceNs one that was written since then, in nanoseconds, must be readable; null where none must be
 */
export function begunLast(sinceNs: bigint | null): RotatedFileChoice {
  return (files, demandReadable) => {
    if (sinceNs !== null) demandReadable(({ mtimeNs }) => mtimeNs >= sinceNs)
    return Promise.resolve(generationsOf(files).slice(-1))
  }
}

/**
 * Opens files beside a feed's that stood at its path before it, as rotations leave them: feed.ndjson.1, feed.ndjson.2.gz,
 * feed.ndjson-20260131, feed-20260131.ndjson.
 * @param name path of the feed
 * @param open files that are none of them, the newest last: that at the path, where there is one. Where it was renamed meanwhile, those
 *   that were begun after it are left out too
 * @returns open files, the oldest first, which the caller must close
 * @throws {UnreadableFeed} when one that may have facts which are not applied cannot be opened, or their folder not listed
 */
export async function openRotated(
  name: string,
  open: readonly FileHandle[],
  choose: RotatedFileChoice,
): Promise<readonly RotatedFile[]> {
  const newest = open.at(-1)
  const renamed = newest === undefined || (await isAt(name, newest)) ? null : newest
  const unreadable: Unreadable[] = []
  const candidates = await openCandidates(name, renamed === null ? open : open.slice(0, -1), unreadable)
  let taken: readonly RotationCandidate[] = []
  try {
    taken = await choose(renamed === null ? candidates : await olderThan(candidates, renamed), (mayHaveFacts) => {
      const first = unreadable.find(
        ({ isGeneration, times }) =>
          mayHaveFacts === undefined || (isGeneration && (times === null || mayHaveFacts(times))),
      )
      if (first !== undefined) throw new UnreadableFeed(first.path, first.reason, { cause: first.error })
    })
  } finally {
    await Promise.all(candidates.filter((one) => !taken.includes(one)).map(({ handle }) => handle.close()))
  }
  return taken
}

/** Returns the files with a number or a date in their name, in reverse order. */
function generationsOf(files: readonly RotationCandidate[]): RotationCandidate[] {
  return files.filter(({ isGeneration }) => isGeneration).reverse()
}

/** Returns the candidates behind an open file in their list; all of them where it is not among them. */
async function olderThan(
  candidates: readonly RotationCandidate[],
  handle: FileHandle,
): Promise<readonly RotationCandidate[]> {
  const inode = inodeOf(await handle.stat({ bigint: true }))
  return candidates.slice(1 + candidates.findIndex((one) => one.inode === inode))
}
