import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { open, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** A disk that is soon full. */
export interface SmallDisk {
  /** Why it is not there, for the title of what is skipped then; empty where it is. */
  readonly whyNot: string
  readonly folder: string
  /** Takes all room but so many bytes. */
  leave(bytes: number): Promise<void>
  /** Gives it back. */
  makeRoom(): Promise<void>
  remove(): Promise<void>
}

/**
 * Mounts one in memory.
 * @param demanded what the caller needs besides; null where it is there
 */
export function mountSmallDisk(megabytes: number, demanded: string | null = null): SmallDisk {
  const folder = mkdtempSync(path.join(tmpdir(), 'disk-'))
  let whyNot = demanded === null ? '' : ` (skipped: ${demanded})`
  try {
    if (whyNot === '')
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    whyNot = ' (skipped: mount -t tmpfs needs Linux and root)'
  }
  if (whyNot !== '') rmdirSync(folder)
  const ballast = path.join(folder, 'ballast')
  return {
    whyNot,
    folder,
    async leave(bytes) {
      const { bavail, bsize } = await statfs(folder)
      const file = await open(ballast, 'w')
      await file.writeFile(Buffer.alloc(Math.max(0, bavail * bsize - bytes)))
      await file.close()
    },
    makeRoom: () => rm(ballast, { force: true }),
    async remove() {
      execFileSync('umount', [folder])
      await rm(folder, { recursive: true })
    },
  }
}
