import { sharedHeaders } from '../middleware/cors.ts'
import { type HeaderList, headerList } from '../server/header-list.ts'

/** What is known of the data at a moment: an answer that is begun then is told it. */
export interface DataState {
  /** `seq.mark` of the newest commit that was heard of; null in an empty database, and while none are heard of. */
  readonly version: string | null
  /** Time of the newest fact at that version, in Unix seconds. */
  readonly newestTs: number | null
  /** Whole seconds since this process last proved that it had heard of every commit; null before the first time. */
  readonly ageSeconds: number | null
}

/** With the headers that tell it, beside those that every answer has. */
export interface Stamp extends DataState {
  readonly headers: HeaderList
}

/** A version in its two parts, of which the first orders the versions of one history. */
export interface ParsedVersion {
  readonly seq: number
  readonly text: string
}

/** So many of the newest versions are known without asking the database: some minutes of a busy feed. */
const mostKnown = 500

/**
 * The version of the data that this process has heard of. While it doesn't hear of commits it claims none: after a
 * failover the one it knows may be of a history that is gone.
 */
export class DataVersions {
  #isListening = false
  #newest: { readonly seq: number; readonly text: string; readonly newestTs: number | null } | null = null
  readonly #known = new Map<number, string>()
  #provenAt: number | null = null
  #stamp: Stamp | null = null
  readonly #waiting = new Set<() => void>()

  get isListening(): boolean {
    return this.#isListening
  }

  /** Number of the newest commit that was heard of. */
  get newestSeq(): number | null {
    return this.#newest?.seq ?? null
  }

  committed({ version, newestTs }: { readonly version: string; readonly newestTs: number | null }): void {
    const seq = Number(version.slice(0, version.indexOf('.')))
    this.#newest = { seq, text: version, newestTs }
    this.#known.set(seq, version)
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= mostKnown) break
      this.#known.delete(oldest)
    }
    this.#changed()
  }

  listening(isListening: boolean): void {
    this.#isListening = isListening
    this.#newest = null
    this.#known.clear()
    this.#changed()
  }

  upToDate(sentAtMilliseconds: number): void {
    this.#provenAt = sentAtMilliseconds
  }

  /** It is made once for each commit, and each second in which nothing was proved. */
  now(): Stamp {
    const ageSeconds = this.#provenAt === null ? null : Math.floor((performance.now() - this.#provenAt) / 1000)
    if (this.#stamp?.ageSeconds === ageSeconds) return this.#stamp
    const { text: version = null, newestTs = null } = this.#newest ?? {}
    this.#stamp = { version, newestTs, ageSeconds, headers: headersOf({ version, newestTs, ageSeconds }) }
    return this.#stamp
  }

  /** Whether a version with this number, or a later one, was heard of. */
  hasReached({ seq }: ParsedVersion): boolean {
    return this.#isListening && this.#newest !== null && this.#newest.seq >= seq
  }

  /** The version with this number; undefined where only the database knows. */
  known(seq: number): string | undefined {
    return this.#known.get(seq)
  }

  /** @returns ends that */
  onChange(listener: () => void): () => void {
    this.#waiting.add(listener)
    return () => this.#waiting.delete(listener)
  }

  #changed(): void {
    this.#stamp = null
    for (const listener of this.#waiting) listener()
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
