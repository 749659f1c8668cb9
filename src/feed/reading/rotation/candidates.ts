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

/** A file that stood at a feed's path before, and was renamed. */
export interface RotatedFile {
  readonly path: string
  readonly handle: FileHandle
}

/** A file beside a feed's that may be an earlier one. */
export interface RotationCandidate extends RotatedFile {
  readonly stats: BigIntStats
  /** Whether its name tells it from the others by a number or a date. */
  readonly isGeneration: boolean
}

/** A file that cannot be opened, or a folder that cannot be listed, in which any file may be. */
export interface Unreadable extends Pick<RotationCandidate, 'path' | 'isGeneration'> {
  readonly error: Error
  /** Why it cannot be read, and why it must be. */
  readonly reason: string
  /** Time of its last change, in nanoseconds; null where that is unknown. */
  readonly mtimeNs: bigint | null
}

/**
 * Opens the files that may be earlier ones of a feed, the newest first. Where files are renamed meanwhile, as by a rotation, it
 * begins again: a file that has got another name would be left out.
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
    (one: Pick<RotationCandidate, 'path' | 'isGeneration'>, mtimeNs: bigint | null) =>
    (error: NodeJS.ErrnoException) => {
      const reason =
        `can't be opened: ${error.message}. By its name it stood at ${name} before, and may have facts that are not ` +
        'applied. Make it readable, or move it to another folder, and start the gateway again'
      if (error.code === 'ENOENT') hasChanged = true
      else unreadable.push({ ...one, error, reason, mtimeNs })
      return null
    }
  const dated = await Promise.all(
    listed.map(async (one) => ({ ...one, stats: await stat(one.path, { bigint: true }).catch(failed(one, null)) })),
  )
  const newest = dated.sort((a, b) => compare(b.stats?.mtimeNs ?? 0n, a.stats?.mtimeNs ?? 0n)).slice(0, maxRotated)
  const inodes = new Set((await Promise.all(open.map((one) => one.stat({ bigint: true })))).map(inodeOf))
  const opened: RotationCandidate[] = []
  for (const { stats, ...one } of newest) {
    const handle = stats?.isFile() === true ? await openFile(one.path, 'r').catch(failed(one, stats.mtimeNs)) : null
    if (handle === null) continue
    const now = await handle.stat({ bigint: true })
    if (stats !== null && inodeOf(now) !== inodeOf(stats)) hasChanged = true
    if (inodes.has(inodeOf(now))) await handle.close()
    else opened.push({ ...one, handle, stats: now })
    inodes.add(inodeOf(now))
  }
  // While gzip runs, its output beside the file is incomplete.
  const paths = new Set(opened.map((one) => one.path))
  const isCopy = (one: RotationCandidate): boolean => one.path.endsWith(gzipped) && paths.has(withoutGzip(one.path))
  await Promise.all(opened.filter(isCopy).map(({ handle }) => handle.close()))
  const candidates = opened.filter((one) => !isCopy(one)).sort((a, b) => compare(b.stats.mtimeNs, a.stats.mtimeNs))
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
    if (error.code !== 'ENOENT') unreadable.push({ path: folder, isGeneration: true, error, reason, mtimeNs: null })
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

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
