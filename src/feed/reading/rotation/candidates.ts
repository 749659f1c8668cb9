import type { BigIntStats } from 'node:fs'
import { type FileHandle, open as openFile, readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { retryPassingFaults } from '../open-file.ts'
import { inodeOf } from './file-identity.ts'

/** Files beside a feed's that are opened at most, the newest ones: a year of daily rotations has no more. */
const maxRotated = 400

/** Listings at most, while files are renamed at each: a rotation takes some milliseconds. */
const maxAttempts = 20
const attemptMilliseconds = 50

/** Copies that people and editors keep, unfinished files, and the files of bad lines. */
const noRotation = /(?:~|\.bak|\.orig|\.swp|\.tmp|\.new|\.rejects\.ndjson)(?:\.gz)?$/

const gzipped = '.gz'

/** A number or a date in a name, as rotations add it to that of a feed: not `-2`, which another feed may have. */
const generationPattern = /^(?:\.\d+|[.\-_]\d{4}-?\d\d-?\d\d[^.]*(?:\.\d+)?)$/

/** Ends of names with a number that is higher for an older file. */
const numberedPattern = /\.\d{1,4}$/

/** A file that stood at a feed's path before, and was renamed. */
export interface RotatedFile {
  readonly path: string
  readonly handle: FileHandle
}

/** Times of a file, in nanoseconds. */
export interface FileTimes {
  /** When it was begun, as far as that is known. */
  readonly begunNs: bigint
  /** When it was written to last. */
  readonly mtimeNs: bigint
}

/** A file beside a feed's that may be an earlier one. */
export interface RotationCandidate extends RotatedFile, FileTimes {
  readonly inode: string
  /** Whether its name tells it from the others by a number or a date. */
  readonly isGeneration: boolean
}

/** A candidate whose times are not compared with those of the others yet. */
interface OpenedFile extends Omit<RotationCandidate, keyof FileTimes> {
  readonly stats: BigIntStats
}

/** A file that cannot be opened, or a folder that cannot be listed, in which any file may be. */
export interface Unreadable extends Pick<RotationCandidate, 'path' | 'isGeneration'> {
  readonly error: Error
  /** Why it cannot be read, and why it must be. */
  readonly reason: string
  /** Null where these are unknown. */
  readonly times: FileTimes | null
}

/**
 * Opens the files that may be earlier ones of a feed, the one that was begun last first. Where files are renamed meanwhile, as by a
 * rotation, it begins again: a file that has got another name would be left out.
 * @param open files that are none of them
 * @param unreadable receives those that cannot be opened, and the folder where it cannot be listed
 */
export async function openCandidates(
  name: string,
  open: readonly FileHandle[],
  unreadable: Unreadable[],
): Promise<RotationCandidate[]> {
  for (let attempt = 1; ; attempt++) {
    const found: Unreadable[] = []
    const { candidates, hasChanged } = await openListed(name, open, found)
    if (!hasChanged || attempt === maxAttempts) {
      unreadable.push(...found)
      return candidates
    }
    await Promise.all(candidates.map(({ handle }) => handle.close()))
    await wait(attemptMilliseconds)
  }
}

/** Opens the candidates of one listing; `hasChanged` tells whether files were renamed or removed meanwhile. */
async function openListed(
  name: string,
  open: readonly FileHandle[],
  unreadable: Unreadable[],
): Promise<{ readonly candidates: RotationCandidate[]; readonly hasChanged: boolean }> {
  const listed = await namesBeside(name, unreadable)
  let hasChanged = false
  const failed =
    (one: Pick<RotationCandidate, 'path' | 'isGeneration'>, stats: BigIntStats | null) =>
    (error: NodeJS.ErrnoException) => {
      const reason =
        `can't be opened: ${error.message}. By its name it stood at ${name} before, and may have facts that are not ` +
        'applied. Make it readable, or move it to another folder, and start the gateway again'
      if (error.code === 'ENOENT') hasChanged = true
      else {
        const times = stats && { begunNs: createdNs(stats) ?? stats.mtimeNs, mtimeNs: stats.mtimeNs }
        unreadable.push({ ...one, error, reason, times })
      }
      return null
    }
  const dated = await Promise.all(
    listed.map(async (one) => ({ ...one, stats: await stat(one.path, { bigint: true }).catch(failed(one, null)) })),
  )
  const newest = dated.sort((a, b) => compare(b.stats?.mtimeNs ?? 0n, a.stats?.mtimeNs ?? 0n)).slice(0, maxRotated)
  const inodes = new Set((await Promise.all(open.map((one) => one.stat({ bigint: true })))).map(inodeOf))
  const opened: OpenedFile[] = []
  for (const { stats, ...one } of newest) {
    const handle = stats?.isFile() === true ? await openFile(one.path, 'r').catch(failed(one, stats)) : null
    if (handle === null) continue
    const now = await handle.stat({ bigint: true })
    const inode = inodeOf(now)
    if (stats !== null && inode !== inodeOf(stats)) hasChanged = true
    if (inodes.has(inode)) await handle.close()
    else opened.push({ ...one, handle, inode, stats: now })
    inodes.add(inode)
  }
  // While gzip runs, its output beside the file is incomplete.
  const paths = new Set(opened.map((one) => one.path))
  const isCopy = (one: RotatedFile): boolean => one.path.endsWith(gzipped) && paths.has(withoutGzip(one.path))
  await Promise.all(opened.filter(isCopy).map(({ handle }) => handle.close()))
  const candidates = byBegin(opened.filter((one) => !isCopy(one)))
  const names = (await namesBeside(name, [])).map((one) => one.path)
  return { candidates, hasChanged: hasChanged || names.join('\n') !== listed.map((one) => one.path).join('\n') }
}

/** Lists the files whose names tell that they may be earlier ones of a feed, by name. */
async function namesBeside(
  name: string,
  unreadable: Unreadable[],
): Promise<Pick<RotationCandidate, 'path' | 'isGeneration'>[]> {
  const folder = path.dirname(name)
  const entries = await retryPassingFaults(() => readdir(folder)).catch((caught: unknown) => {
    const error = caught as NodeJS.ErrnoException
    const reason =
      `can't be listed: ${error.message}. Files in it may have stood at ${name} before, and have facts that are not applied. ` +
      'Make it readable, and start the gateway again'
    if (error.code !== 'ENOENT') unreadable.push({ path: folder, isGeneration: true, error, reason, times: null })
    return []
  })
  return entries.sort().flatMap((entry) => {
    const generation = entry === path.basename(name) ? null : generationOf(path.basename(name), entry)
    return generation === null
      ? []
      : [{ path: path.join(folder, entry), isGeneration: generationPattern.test(generation) }]
  })
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

/** Returns when a file was created, in nanoseconds; null for a copy with an older time, as of gzip, and where that is not recorded. */
export function createdNs({ birthtimeNs, mtimeNs }: BigIntStats): bigint | null {
  return birthtimeNs > 0n && birthtimeNs <= mtimeNs ? birthtimeNs : null
}

/**
 * Determines when files were begun, the one that was begun last first: where that is not recorded, before each that was written to
 * later. By the times of change alone, a file to which lines came late would seem to be newer than the next one.
 */
function byBegin(files: readonly OpenedFile[]): RotationCandidate[] {
  let earliest: bigint | null = null
  return files
    .toSorted((a, b) => compare(b.stats.mtimeNs, a.stats.mtimeNs) || compareNames(b, a))
    .map(({ stats, ...file }) => {
      const { mtimeNs } = stats
      const begunNs = createdNs(stats) ?? (earliest === null || mtimeNs < earliest ? mtimeNs : earliest - 1n)
      if (earliest === null || begunNs < earliest) earliest = begunNs
      return { ...file, mtimeNs, begunNs }
    })
    .sort((a, b) => compare(b.begunNs, a.begunNs) || compareNames(b, a))
}

const collator = new Intl.Collator('en', { numeric: true })

/** Compares the names of files with equal times, the oldest first: `.2` before `.1`, and dates in their order. */
function compareNames(a: RotatedFile, b: RotatedFile): number {
  const order = collator.compare(withoutGzip(a.path), withoutGzip(b.path))
  return numberedPattern.test(withoutGzip(a.path)) ? -order : order
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
