import { compareVersions, type DataVersion, seqOf } from '../../domain/identity/data-version.ts'
import type { DataState } from '../../graphql/execution/context.ts'
import { versionLimits } from '../../limits.ts'
import { sharedHeaders } from '../middleware/cors.ts'
import { type HeaderList, headerList, type NotifiedState } from './encoded-response.ts'

/**
 * Returns the version with a sequence number in the commit log; null if there is none. Rejects if the database does not
 * respond.
 */
export type VersionAt = (seq: number) => Promise<string | null>

/** Maximum number of recent versions in memory, which need no query: some minutes of a busy feed. */
const maxKnown = 500

/**
 * Tracks the newest data version that this process was notified of. Without notifications it reports no version: after
 * a failover the last one may belong to a lost history.
 */
export class DataVersions {
  #isListening = false
  #newest: { readonly seq: number; readonly text: string; readonly newestTs: number | null } | null = null
  /** Greatest sequence number of versions that were notified before the last interruption; 0 if there are none. */
  #newestBefore = 0
  #interruptions = 0
  readonly #known = new Map<number, string>()
  /** When this process was last known to have received all commits, in milliseconds of performance.now(). */
  #provenAt: number | null = null
  /** Whether `#provenAt` is later than the last start of notifications: they may come from another server since then. */
  #isProofCurrent = false
  #state: NotifiedState | null = null
  readonly #listeners = new Set<() => void>()
  /** Called when a wait begins for the notification of a commit that a read has seen. */
  onWait: () => void = () => undefined

  get isListening(): boolean {
    return this.#isListening
  }

  /** Sequence number of the newest commit notified; null if unknown. */
  get newestSeq(): number | null {
    return this.#newest?.seq ?? null
  }

  committed({ version, newestTs }: { readonly version: string; readonly newestTs: number | null }): void {
    const seq = seqOf(version)
    this.#newest = { seq, text: version, newestTs }
    this.#known.set(seq, version)
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= maxKnown) break
      this.#known.delete(oldest)
    }
    this.#changed()
  }

  listening(isListening: boolean): void {
    this.#isListening = isListening
    this.#newestBefore = Math.max(this.#newestBefore, this.newestSeq ?? 0)
    this.#newest = null
    this.#isProofCurrent = false
    this.#interruptions++
    this.#known.clear()
    this.#changed()
  }

  upToDate(sentAtMilliseconds: number): void {
    this.#provenAt = sentAtMilliseconds
    this.#isProofCurrent = true
    for (const listener of this.#listeners) listener()
  }

  /**
   * Returns whether this process was notified of every commit up to a time, in milliseconds of performance.now(). A
   * proof from before an interruption does not count: notifications may come from another server since then.
   */
  isProvenSince(milliseconds: number): boolean {
    return this.#isListening && this.#isProofCurrent && this.#provenAt !== null && this.#provenAt >= milliseconds
  }

  /** Returns the current state; it is rebuilt after each commit, and at most once a second otherwise. */
  currentState(): NotifiedState {
    const ageSeconds = this.#provenAt === null ? null : Math.floor((performance.now() - this.#provenAt) / 1000)
    if (this.#state?.ageSeconds === ageSeconds) return this.#state
    const { text: version = null, newestTs = null } = this.#newest ?? {}
    const headers = headersOf({ version, newestTs, ageSeconds })
    this.#state = { version, newestTs, ageSeconds, headers, interruptions: this.#interruptions }
    return this.#state
  }

  /** Returns whether a version with this sequence number, or a later one, was notified. */
  hasReached({ seq }: Pick<DataVersion, 'seq'>): boolean {
    return this.#isListening && this.#newest !== null && this.#newest.seq >= seq
  }

  /**
   * Resolves when this process was notified of a version that was read: from then on, the cache has no older response.
   * Without notifications nothing is cached, and it resolves immediately. It waits at most as long as
   * `Min-Data-Version` does: a server that is silent for longer counts as disconnected.
   */
  async untilNotified({ seq }: Pick<DataVersion, 'seq'>): Promise<void> {
    const isNotified = (): boolean => !this.#isListening || seq === 0 || this.hasReached({ seq })
    if (!isNotified()) this.onWait()
    await this.waitUntil(isNotified, versionLimits.waitMilliseconds)
  }

  /**
   * Returns whether data surely lacks the version that this process was notified of before it was read: its own version is older,
   * or has the same number in another history. Reads have then moved to a server that lacks the newest commits, such as a standby
   * that was promoted.
   * @param version of the data; null if it is unknown
   */
  isOutdated(version: string | null, notified: Pick<NotifiedState, 'version'>): boolean {
    if (version === null || notified.version === null || version === notified.version) return false
    const order = compareVersions(version, notified.version)
    return order === 'older' || order === 'of another history'
  }

  /** Returns whether notifications have not reached the version of data yet, though they arrive; null or empty is no version. */
  isUnnotified(version: string | null): boolean {
    if (version === null || version === '' || version === this.#newest?.text || !this.#isListening) return false
    return !this.hasReached({ seq: seqOf(version) })
  }

  /**
   * Waits until this process is notified of the version of data that was read, if it is later than the notified one.
   * @param version of the data; null if it is unknown, which is no contradiction
   * @param notified state before the data was read
   * @returns whether the data is of the notified history; otherwise reads may have moved to another server, which has newer
   *   commits of its own
   */
  async confirmHistory(version: string | null, notified: NotifiedState): Promise<boolean> {
    if (version === null || version === notified.version) return true
    if (notified.version !== null && compareVersions(version, notified.version) === 'older') return true
    const seq = seqOf(version)
    await this.untilNotified({ seq })
    if (this.#interruptions !== notified.interruptions || this.isUnnotified(version)) return false
    return (this.#known.get(seq) ?? version) === version
  }

  /**
   * Returns whether a failover or a restored backup has lost a version: this process was notified of one with its number,
   * or of later ones, and has since received every commit up to a time, in milliseconds of performance.now(), which has
   * only lower numbers. A version beyond all that were notified may still come.
   */
  hasLost({ seq }: Pick<DataVersion, 'seq'>, milliseconds: number): boolean {
    return seq <= this.#newestBefore && this.isProvenMissing({ seq }, milliseconds)
  }

  /**
   * Returns whether a version was not notified, though every commit up to a time was, in milliseconds of performance.now(): one that
   * was committed before then is lost.
   */
  isProvenMissing(version: Pick<DataVersion, 'seq'>, milliseconds: number): boolean {
    return this.isProvenSince(milliseconds) && !this.hasReached(version)
  }

  /** Returns the version with this sequence number; undefined if it is only in the database. */
  known(seq: number): string | undefined {
    return this.#known.get(seq)
  }

  /**
   * Registers a listener for changes of the state, and for proofs that it is up to date.
   * @returns removes the listener
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Resolves when a condition on the state is true, which is checked at each change, or after a timeout.
   * @param onDisconnect registers a function that ends the wait immediately
   */
  waitUntil(isTrue: () => boolean, milliseconds: number, onDisconnect?: (end: () => void) => void): Promise<void> {
    if (isTrue()) return Promise.resolve()
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        stop()
        resolve()
      }
      const timer = setTimeout(end, milliseconds)
      const stop = this.onChange(() => {
        if (isTrue()) end()
      })
      onDisconnect?.(end)
    })
  }

  #changed(): void {
    this.#state = null
    for (const listener of this.#listeners) listener()
  }
}

function headersOf({ version, newestTs, ageSeconds }: DataState): HeaderList {
  return headerList({
    ...sharedHeaders,
    ...(version !== null && { 'data-version': version }),
    ...(newestTs !== null && { 'data-time': String(newestTs) }),
    ...(ageSeconds !== null && { 'data-age': String(ageSeconds) }),
  })
}
