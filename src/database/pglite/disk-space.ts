import { statfs } from 'node:fs/promises'
import { DatabaseFull } from '../errors.ts'

/**
 * Minimum free disk space before a write: two WAL segments of 16 MiB. PostgreSQL panics when it cannot allocate the
 * next segment, and PGlite then never answers again; other writes to a full disk fail with an error.
 * @see PostgreSQL documentation, "WAL Configuration" and "Disk Full Failure"
 */
const minFreeBytes = 32 * 1024 * 1024

/**
 * Checks the free space of a data directory's disk.
 * @throws {DatabaseFull} when it is less than a write may need
 */
export async function requireDiskSpace(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < minFreeBytes) throw new DatabaseFull('disk', `in ${folder}`)
}
