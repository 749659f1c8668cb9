import type { FileHandle } from 'node:fs/promises'
import type { FeedPosition } from '../../../database/write/feed.ts'
import { containsPosition, type FileStart, handledPartUpTo } from '../file-position.ts'
import type { PrefixDigest } from '../prefix-digest.ts'

/** Detours take at most this part of the time, however often lines come late. */
const maxPart = 1 / 20

/**
 * Limits how often a file is left for the one before it, to which a producer goes on writing: each time both are read
 * again from where that one began. Before a file is left for the next one there is a last detour.
 */
export class Detours {
  #begunMilliseconds: number | null = null
  #nextMilliseconds = 0
  readonly #hadLast = new WeakSet<FileHandle>()
  readonly #left = new WeakMap<FileHandle, FeedPosition>()

  /** Tells whether a file may be left for the one before it. */
  mayBegin(): boolean {
    return performance.now() >= this.#nextMilliseconds
  }

  /** Tells the same of a file that is left for the next one otherwise: once. */
  mayBeginLast(file: FileHandle): boolean {
    if (this.#hadLast.has(file)) return false
    this.#hadLast.add(file)
    return true
  }

  /**
   * Begins a detour.
   * @param prefix digest of everything that was read of the file
   */
  begin(file: FileHandle, prefix: PrefixDigest): void {
    this.#begunMilliseconds = performance.now()
    this.#left.set(file, { line: 0, byte: prefix.bytes, fingerprint: prefix.fingerprint() })
  }

  /**
   * Returns the start of a file, with the part that was read before it was left for a detour, if it was, and has not changed since.
   * @param stored position of the feed in the database
   */
  async afterDetour(file: FileHandle, start: FileStart, stored: FeedPosition | null): Promise<FileStart> {
    const left = this.#left.get(file) ?? null
    if (left === null || start.start.byte > 0 || !(await containsPosition(file, left))) return start
    return { ...start, handledPart: await handledPartUpTo(file, left.byte, stored) }
  }

  /** Tells whether a file was left for a detour: its position was stored before, and proves nothing of the lines that came late. */
  wasLeft(file: FileHandle): boolean {
    return this.#left.has(file)
  }

  /** Ends the detour, if there is one: the file that was left has been read to its end again. */
  end(): void {
    if (this.#begunMilliseconds === null) return
    const now = performance.now()
    this.#nextMilliseconds = now + (now - this.#begunMilliseconds) / maxPart
    this.#begunMilliseconds = null
  }
}
