import type { FileHandle } from 'node:fs/promises'
import type { BytePosition } from '../../../database/write/feed.ts'
import { containsPosition, type FileStart, handledPrefixUpTo } from '../file-position.ts'
import type { PrefixDigest } from '../prefix-digest.ts'
import { type FileBeginning, unknownBeginning } from './file-beginning.ts'

/** The file that another one replaced, kept open because a failover may lose facts of it, or more may come to it. */
export interface EarlierFile {
  readonly handle: FileHandle
  readonly beginning: FileBeginning
  /** How much of it was read; infinite for a gzipped file that was read, which cannot grow. */
  readonly bytesRead: number
  /** Position at the end of what was read of it, without the number of its line; absent where another run has read it. */
  readonly end?: BytePosition
}

/** Where a file follows the one before it, as before the first detour from it. */
interface BeforeDetours {
  /** Where the file begins: the late lines come after that. */
  readonly beginning: FileBeginning
  readonly earlier: EarlierFile
}

/** Detours take at most this share of the time, however often lines come late. */
const maxShare = 1 / 20

/**
 * Limits how often a file is left for the one before it, to which a producer goes on writing: each time both are read
 * again from where that one began. Before a file is left for the next one there is a last detour.
 */
export class Detours {
  #begunMilliseconds: number | null = null
  #nextMilliseconds = 0
  readonly #hadLast = new WeakSet<FileHandle>()
  readonly #before = new WeakMap<FileHandle, BeforeDetours>()
  /** How far files were read before they were left. */
  #handled = new WeakMap<FileHandle, BytePosition>()

  /** Tells whether a file was left for the one before it. */
  hadAny(file: FileHandle): boolean {
    return this.#before.has(file)
  }

  /** Tells whether a file may be left for the one before it. */
  mayBegin(): boolean {
    return performance.now() >= this.#nextMilliseconds
  }

  /** Takes the last detour of a file, which is left for the next one otherwise; returns false where it was taken before. */
  takeLast(file: FileHandle): boolean {
    if (this.#hadLast.has(file)) return false
    this.#hadLast.add(file)
    return true
  }

  /**
   * Begins a detour.
   * @param digest of everything that was read of the file
   * @param before state to return to where the late lines are lost; that of the first detour counts
   */
  begin(file: FileHandle, digest: PrefixDigest, before: BeforeDetours): void {
    this.#begunMilliseconds = performance.now()
    this.#handled.set(file, digest.end())
    if (!this.#before.has(file)) this.#before.set(file, before)
  }

  /**
   * Returns the start of a file, with the prefix that was read before it was left for a detour, if it was, and has not changed since.
   * @param stored position of the feed in the database
   */
  async afterDetour(file: FileHandle, start: FileStart, stored: BytePosition | null): Promise<FileStart> {
    const left = this.#handled.get(file) ?? null
    if (left === null || start.start.byte > 0 || !(await containsPosition(file, left))) return start
    return { ...start, handledPrefix: await handledPrefixUpTo(file, left.byte, stored) }
  }

  /**
   * Forgets the detours from a file: a failover may have lost the late lines, which its position from before them does not prove.
   * @param earlier the file before it, which is late as a whole where there were none: an earlier run may have read the lines
   * @returns the state before the first of them, in which the lines are late again
   */
  undo(file: FileHandle, earlier: EarlierFile): BeforeDetours {
    const before = this.#before.get(file) ?? { beginning: unknownBeginning, earlier: { ...earlier, bytesRead: 0 } }
    this.#before.delete(file)
    this.#hadLast.delete(file)
    this.#nextMilliseconds = 0
    return before
  }

  /** Forgets how far files were read before they were left: a failover may have lost their facts, which were not set aside. */
  forgetHandled(): void {
    this.#handled = new WeakMap()
  }

  /** Ends the detour, if there is one: the file that was left has been read to its end again. */
  end(): void {
    if (this.#begunMilliseconds === null) return
    const now = performance.now()
    this.#nextMilliseconds = now + (now - this.#begunMilliseconds) / maxShare
    this.#begunMilliseconds = null
  }
}
