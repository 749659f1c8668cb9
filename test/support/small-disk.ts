import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { open, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** A small file system that a test can fill. */
export interface SmallDisk {
  /** Reason to skip tests, for their title; empty if the file system is mounted. */
  readonly skipReason: string
  readonly folder: string
  /** Fills the file system except for this many bytes. */
  leaveFree(bytes: number): Promise<void>
  /** Frees the space that `leaveFree` has filled. */
  freeSpace(): Promise<void>
  /** Unmounts the file system, and removes its folder. */
  remove(): Promise<void>
}

/**
 * Mounts a tmpfs in a temporary folder.
 * @param missing reason to skip the tests anyway, such as a missing program
 */
export function mountSmallDisk(megabytes: number, missing: string | null = null): SmallDisk {
  const folder = mkdtempSync(path.join(tmpdir(), 'disk-'))
  let skipReason = missing === null ? '' : ` (skipped: ${missing})`
  try {
    if (skipReason === '')
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    skipReason = ' (skipped: mount -t tmpfs needs Linux and root)'
  }
  if (skipReason !== '') rmdirSync(folder)
  const ballast = path.join(folder, 'ballast')
  return {
    skipReason,
    folder,
    async leaveFree(bytes) {
      const { bavail, bsize } = await statfs(folder)
      const file = await open(ballast, 'w')
      await file.writeFile(Buffer.alloc(Math.max(0, bavail * bsize - bytes)))
      await file.close()
    },
    freeSpace: () => rm(ballast, { force: true }),
    async remove() {
      execFileSync('umount', [folder])
      await rm(folder, { recursive: true })
    },
  }
}
