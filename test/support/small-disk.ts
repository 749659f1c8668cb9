import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { open, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** A disk that is soon full. */
export interface SmallDisk {
  readonly folder: string
  /** Takes all room but so many bytes. */
  leave(bytes: number): Promise<void>
  /** Gives it back. */
  makeRoom(): Promise<void>
  remove(): Promise<void>
}

/** Mounts one in memory, which only root can; null where it can't be. */
export function mountSmallDisk(megabytes: number): SmallDisk | null {
  const folder = mkdtempSync(path.join(tmpdir(), 'disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    rmdirSync(folder)
    return null
  }
  const ballast = path.join(folder, 'ballast')
  return {
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
