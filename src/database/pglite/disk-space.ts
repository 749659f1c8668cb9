import { statfs } from 'node:fs/promises'
import { DatabaseFull } from '../errors.ts'

/**
 * PostgreSQL takes room for its log in pieces of 16 MiB. Where it can't have the next one it stops at once, and the
 * embedded one never answers again: so two of them must be there before it begins. Any other want of room it tells.
 */
const leastFreeBytes = 32 * 1024 * 1024

/** @throws {DatabaseFull} where the folder's disk has less room left than writing may take */
export async function requireDiskSpace(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < leastFreeBytes) throw new DatabaseFull('disk', `in ${folder}`)
}
