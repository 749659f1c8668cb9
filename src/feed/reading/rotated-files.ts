import type { BigIntStats } from 'node:fs'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import path from 'node:path'

/** Files beside a feed's that are opened at most, the newest ones: a year of daily rotations has no more. */
const maxRotated = 400

/** Copies that people and editors keep, unfinished files, and the files of bad lines. */
const noRotation = /(?:~|\.bak|\.orig|\.swp|\.tmp|\.new|\.rejects\.ndjson)(?:\.gz)?$/

const gzipped = '.gz'

/** A number or a date in a name, as rotations add it to that of a feed: not `-2`, which another feed may have. */
const generationPattern = /^(?:\.\d+|[.\-_]\d{4}-?\d\d-?\d\d[^.]*(?:\.\d+)?)$/

/** A file that stood at a feed's path before, and was renamed. */
export interface RotatedFile {
  readonly path: string
  readonly handle: FileHandle
}

interface Candidate extends RotatedFile {
  readonly stats: BigIntStats
  /** Whether its name tells it from the others by a number or a date. */
  readonly isGeneration: boolean
}

/** Chooses the files to read, the oldest first, of those that were written before the feed's, the newest first. */
export type RotatedFileChoice = (files: readonly Candidate[]) => Promise<readonly Candidate[]>

/** Chooses all files with a number or a date in their name. */
export const allGenerations: RotatedFileChoice = (files) => Promise.resolve(generationsOf(files))

/**
 * Returns a choice of the newest file that fulfils a condition, and of those with a number or a date in their name that
 * were written after it.
 */
export function fromFile(isFirst: (handle: FileHandle) => Promise<boolean>): RotatedFileChoice {
  return async (files) => {
    for (const [at, file] of files.entries()) {
      if (await isFirst(file.handle)) return [file, ...generationsOf(files.slice(0, at))]
    }
    return []
  }
}

/**
 * Returns a choice of the files with a number or a date in their name that were written since a time.
 * @param sinceNs time of change, in nanoseconds
 * @param wasRead tells whether a file was read already, itself or by a copy of it
 */
export function writtenSince(sinceNs: bigint, wasRead: (file: FileHandle) => Promise<boolean>): RotatedFileChoice {
  return async (files) => {
    const chosen: Candidate[] = []
    for (const file of generationsOf(files)) {
      if (file.stats.mtimeNs >= sinceNs && !(await wasRead(file.handle))) chosen.push(file)
    }
    return chosen
  }
}

/**
 * Opens files beside a feed's that stood at its path before it, as rotations leave them: feed.ndjson.1, feed.ndjson.2.gz,
 * feed.ndjson-20260131, feed-20260131.ndjson.
 * @param name path of the feed
 * @param current the open file at the path, which is none of them; null where there is none. Where it was renamed meanwhile,
 *   those that were written after it are left out too
 * @returns open files, the oldest first, which the caller must close
 */
export async function openRotated(
  name: string,
  current: FileHandle | null,
  choose: RotatedFileChoice,
): Promise<readonly RotatedFile[]> {
  const isRenamed = current !== null && !(await isAt(name, current))
  const candidates = await openCandidates(name, isRenamed ? null : current)
  let taken: readonly Candidate[] = []
  try {
    taken = await choose(isRenamed ? await olderThan(candidates, current) : candidates)
  } finally {
    await Promise.all(candidates.filter((one) => !taken.includes(one)).map(({ handle }) => handle.close()))
  }
  return taken
}

/** Returns the files with a number or a date in their name, in reverse order. */
function generationsOf(files: readonly Candidate[]): Candidate[] {
  return files.filter(({ isGeneration }) => isGeneration).reverse()
}

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
async function isAt(name: string, handle: FileHandle): Promise<boolean> {
  const there = await statsOf(name)
  return there !== null && inodeOf(there) === inodeOf(await handle.stat({ bigint: true }))
}

/** Returns the candidates behind an open file in their list; all of them where it is not among them. */
async function olderThan(candidates: readonly Candidate[], handle: FileHandle): Promise<readonly Candidate[]> {
  const inode = inodeOf(await handle.stat({ bigint: true }))
  return candidates.slice(1 + candidates.findIndex(({ stats }) => inodeOf(stats) === inode))
}

/** Opens the files that may be earlier ones of a feed, the newest first. */
async function openCandidates(name: string, current: FileHandle | null): Promise<Candidate[]> {
  const folder = path.dirname(name)
  const entries = await readdir(folder).catch(() => [])
  const named = entries.flatMap((entry) => {
    const generation = entry === path.basename(name) ? null : generationOf(path.basename(name), entry)
    return generation === null
      ? []
      : [{ path: path.join(folder, entry), isGeneration: generationPattern.test(generation) }]
  })
  const dated = await Promise.all(named.map(async (one) => ({ ...one, stats: await statsOf(one.path) })))
  const newest = dated.sort((a, b) => compare(b.stats?.mtimeNs ?? 0n, a.stats?.mtimeNs ?? 0n)).slice(0, maxRotated)
  const isCurrent = current === null ? null : await current.stat({ bigint: true })
  const inodes = new Set(isCurrent === null ? [] : [inodeOf(isCurrent)])
  const opened: Candidate[] = []
  for (const { stats, ...one } of newest) {
    const handle = stats?.isFile() === true ? await open(one.path, 'r').catch(() => null) : null
    if (handle === null) continue
    // Renamed again in the meantime, it may be another one than was listed.
    const now = await handle.stat({ bigint: true })
    if (inodes.has(inodeOf(now))) await handle.close()
    else opened.push({ ...one, handle, stats: now })
    inodes.add(inodeOf(now))
  }
  // While gzip runs, its output beside the file is incomplete.
  const paths = new Set(opened.map((one) => one.path))
  const isCopy = (one: Candidate): boolean => one.path.endsWith(gzipped) && paths.has(withoutGzip(one.path))
  await Promise.all(opened.filter(isCopy).map(({ handle }) => handle.close()))
  return opened.filter((one) => !isCopy(one)).sort((a, b) => compare(b.stats.mtimeNs, a.stats.mtimeNs))
}

/** Returns what the name of a rotated file has beside the feed's; null for the name of another file. */
function generationOf(feed: string, entry: string): string | null {
  if (noRotation.test(entry)) return null
  const [base, plain] = [withoutGzip(feed), withoutGzip(entry)]
  const { name: stem, ext } = path.parse(base)
  if (plain.startsWith(base)) {
    const rest = plain.slice(base.length)
    return /^(?:$|[.\-_])/.test(rest) ? rest : null
  }
  const middle = plain.slice(stem.length, plain.length - ext.length)
  return plain.startsWith(stem) && plain.endsWith(ext) && generationPattern.test(middle) ? middle : null
}

function withoutGzip(file: string): string {
  return file.endsWith(gzipped) ? file.slice(0, -gzipped.length) : file
}

function statsOf(file: string): Promise<BigIntStats | null> {
  return stat(file, { bigint: true }).catch(() => null)
}

function inodeOf({ dev, ino }: BigIntStats): string {
  return `${dev} ${ino}`
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
