import type { FileHandle } from 'node:fs/promises'
import type { PathWatcher } from '../growing-file.ts'
import type { PathAbsence } from './watched-path.ts'
import { Detours, type EarlierFile } from './detours.ts'
import type { FileBeginning } from './file-beginning.ts'
import { LateFiles } from './late-files.ts'

/** A path at which files replace each other. */
export interface FollowedPath {
  readonly name: string
  /** Time at which it was read to its end last, in Unix seconds, as far as the database proves it; null where it never was. */
  readonly readUntil: number | null
  readonly signal: AbortSignal
  readonly watcher: PathWatcher | undefined
  readonly absence: PathAbsence
  readonly lateFiles: LateFiles
}

/** An open file that stands at a followed path, or stood there before. */
export interface FollowedFile extends FollowedPath {
  readonly handle: FileHandle
  readonly beginning: FileBeginning
  /** The file that it replaced. */
  readonly earlier: EarlierFile | null
  /** The files that have replaced it, the oldest first, where these are known. */
  readonly successors: readonly FileHandle[]
  /**
   * Versions of the files that were read by this run to their end, and digests of their contents, since the last failover, which may
   * have lost lines of them.
   */
  readonly finished: Set<string>
  readonly detours: Detours
}

/** Begins to follow a path. */
export function followPath(path: Omit<FollowedPath, 'absence' | 'lateFiles'>): FollowedPath {
  return { ...path, absence: { polls: 0 }, lateFiles: new LateFiles() }
}

/** Returns what a run has not seen yet when it begins. */
export function firstFile(followedPath: FollowedPath): Omit<FollowedFile, 'handle' | 'beginning'> {
  return { ...followedPath, earlier: null, successors: [], finished: new Set(), detours: new Detours() }
}
