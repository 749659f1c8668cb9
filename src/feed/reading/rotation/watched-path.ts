import { type FileHandle, stat } from 'node:fs/promises'

/** A rotation leaves no file at the path for a moment: it is reported after this many polls, 5 s. */
const missingPolls = 25

/** How long a path has led to no file. All files that are read one after another share it: the path is theirs. */
export interface PathAbsence {
  polls: number
}

/** Options of {@link watchPath}. */
export interface WatchedPathOptions {
  readonly name: string
  readonly handle: FileHandle
  readonly watcher: { onMissing(reason: string): void; onFound(): void } | undefined
  readonly absence: PathAbsence
}

/** The path of a file that is read. */
export interface WatchedPath {
  /** Tells where the path leads, compared with the successor where there is one. */
  leadsTo(successor: FileHandle | null): Promise<'this file' | 'another file' | 'none'>
  /** Returns the time of the file's last change, in nanoseconds, when the path led to it last. */
  seenAtNs(): bigint
}

/**
 * Watches whether a path leads to an open file, and counts the polls at which it leads to none.
 * @param watcher notified where it leads to none for some time, and when it does again
 */
export async function watchPath({ name, handle, watcher, absence }: WatchedPathOptions): Promise<WatchedPath> {
  let seenAtNs = (await handle.stat({ bigint: true })).mtimeNs
  return {
    async leadsTo(successor) {
      try {
        const [there, here] = await Promise.all([
          stat(name, { bigint: true }),
          (successor ?? handle).stat({ bigint: true }),
        ])
        if (absence.polls >= missingPolls) watcher?.onFound()
        absence.polls = 0
        if (there.ino !== here.ino || there.dev !== here.dev) return 'another file'
        if (successor === null) seenAtNs = here.mtimeNs
        return 'this file'
      } catch (error) {
        if (++absence.polls === missingPolls) watcher?.onMissing((error as Error).message)
        return 'none'
      }
    },
    seenAtNs: () => seenAtNs,
  }
}
