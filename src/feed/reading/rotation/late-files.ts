import type { FileHandle } from 'node:fs/promises'
import type { BytePosition } from '../../../database/write/feed.ts'
import { UnrepeatableFeed } from '../../errors.ts'
import { containsPosition } from '../file-position.ts'
import { closeAll } from '../open-file.ts'
import type { EarlierFile } from './detours.ts'
import { openRotated } from './rotated-files.ts'

/** Late files that are remembered, the newest ones, of some hundred bytes each. */
const maxFiles = 400

interface LateFile {
  readonly end: BytePosition
  /** Time of its last change, in nanoseconds. */
  readonly modifiedNs: bigint
}

/** Files in which lines came late, and that are closed: a failover may have lost these lines, also where the files were removed since. */
export class LateFiles {
  #files: LateFile[] = []

  async add({ handle, end }: EarlierFile): Promise<void> {
    if (end === undefined) return
    const { mtimeNs: modifiedNs } = await handle.stat({ bigint: true })
    this.#files = [...this.#files, { end, modifiedNs }].slice(-maxFiles)
  }

  /**
   * Verifies that those which were written to since a time can be read again.
   * @param name path of the feed
   * @param sinceNs the time, in nanoseconds
   * @param open open files of the feed, which are closed before an error
   * @param signal ends reading
   * @throws {UnrepeatableFeed} when one is neither open nor a rotated file with a number or a date in its name
   */
  async requireReadable(
    name: string,
    sinceNs: bigint,
    open: readonly FileHandle[],
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = this.#files.filter(({ modifiedNs }) => modifiedNs >= sinceNs)
    if (wanted.length === 0) return
    await openRotated(name, [], async (files) => {
      const handles = [...open, ...files.filter(({ isGeneration }) => isGeneration).map(({ handle }) => handle)]
      for (const { end } of wanted) {
        const found = await Promise.all(handles.map((handle) => containsPosition(handle, end, signal)))
        if (found.includes(true) || signal.aborted) continue
        await closeAll(open)
        throw UnrepeatableFeed.ofRemovedLateFile(name)
      }
      return []
    })
  }
}
