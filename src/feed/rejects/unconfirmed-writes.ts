import { type FileHandle, open } from 'node:fs/promises'

/**
 * The bytes that were appended to a file since the disk has confirmed all. After a failed sync the system takes them for stored,
 * and no later sync reports the failure: so they are written again, in place, before the next one. A network file system may
 * only report then that it is full.
 * @see PostgreSQL wiki, "Fsync Errors"
 */
export class UnconfirmedWrites {
  #writes: { readonly at: number; readonly bytes: Buffer }[] = []
  #hasFailed = false

  /** Notes bytes that were appended at an offset. */
  add(at: number, bytes: Buffer): void {
    if (bytes.length > 0) this.#writes.push({ at, bytes })
  }

  /** Has the disk store what was appended. */
  async sync(handle: FileHandle): Promise<void> {
    this.#hasFailed = this.#writes.length > 0
    await handle.sync()
    this.#hasFailed = false
    this.#writes = []
  }

  /**
   * Writes bytes again whose sync has failed.
   * @returns whether the file still has them where they were written; else they, and others, may be lost
   */
  async writeAgain(file: string, handle: FileHandle): Promise<boolean> {
    if (!this.#hasFailed) return true
    const writer = await open(file, 'r+')
    try {
      if ((await writer.stat()).ino !== (await handle.stat()).ino) return this.#forget()
      for (const { at, bytes } of this.#writes) {
        const { bytesRead, buffer } = await handle.read(Buffer.alloc(bytes.length), 0, bytes.length, at)
        if (bytesRead < bytes.length || !buffer.equals(bytes)) return this.#forget()
        for (let done = 0; done < bytes.length;) {
          done += (await writer.write(bytes, done, bytes.length - done, at + done)).bytesWritten
        }
      }
      return true
    } finally {
      await writer.close()
    }
  }

  #forget(): false {
    this.#writes = []
    return false
  }
}
