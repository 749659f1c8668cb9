import type { Cancellation } from '../../../database/cancellation.ts'
import { limitConcurrency, type LimitConcurrency } from '../../../fairness/limit-concurrency.ts'
import type { CommitPage, LedgerLog, LedgerPosition, NoCommits, StreamedCommit } from '../../../graphql/ledger-log.ts'
import type { LiveLimits } from '../../../limits/live.ts'
import { FailureReport } from '../../async/failure-report.ts'
import type { DataVersions } from '../../cache/data-versions.ts'
import type { FanOut } from '../delivery/fan-out.ts'
import { isSamePlace, type NextCommits } from './next-commits.ts'
import { limitProductionTime } from './production-time.ts'
import { RowFailures, wrapReadError } from './row-failures.ts'

export interface LedgerTailOptions {
  readonly log: LedgerLog
  readonly versions: DataVersions
  readonly limits: LiveLimits
  readonly fanOut: FanOut
  /** Reports an unexpected error. */
  readonly report: (error: unknown) => void
}

/** A stream of rows that reads on when there are more. */
export interface TailListener {
  advance(): void
  /** Tells the client that rows may be late. */
  sendStale(): void
  /** Notes that notifications of commits have stopped. */
  onListeningStopped(): void
}

/** Delay before the next read after a failed one, in milliseconds. */
const retryMilliseconds = 500
// Allocated once: all streams ask after each commit.
const [none, lost, notInMemory] = [{ kind: 'none' }, { kind: 'lost' }, { kind: 'notInMemory' }] as const

/**
 * Reads the ledger rows of new commits once for all streams, and keeps the newest commits in memory. A stream at an older
 * position, because it was just resumed or its client reads slowly, reads from the database until it has caught up.
 */
export class LedgerTail {
  readonly #log: LedgerLog
  readonly #versions: DataVersions
  readonly #limits: LiveLimits
  readonly #fanOut: FanOut
  readonly #limitPages: LimitConcurrency
  /** New streams, and those that a reset sends on, do not wait behind pages. */
  readonly #limitEnds: LimitConcurrency
  readonly #subscribers = new Set<TailListener>()
  /** The newest commits, with consecutive numbers. */
  #window: StreamedCommit[] = []
  /** The position after all commits that were read; null while no stream needs it. */
  #end: LedgerPosition | null = null
  #isReading = false
  /** Whether there may be commits after `#end`. */
  #mayHaveMore = false
  #retry: NodeJS.Timeout | undefined
  /** Whether the last read of new commits failed. */
  #isFailing = false
  readonly #failures: FailureReport
  readonly #failuresOfEnds: FailureReport
  /** Streams whose next rows cannot be read or produced. */
  readonly rowFailures: RowFailures

  constructor({ log, versions, limits, fanOut, report }: LedgerTailOptions) {
    this.#failures = new FailureReport(report)
    this.#failuresOfEnds = new FailureReport(report)
    this.rowFailures = new RowFailures(report)
    this.#log = log
    this.#versions = versions
    this.#limits = limits
    this.#fanOut = fanOut
    this.#limitPages = limitConcurrency(limits.ledgerReads)
    this.#limitEnds = limitConcurrency(limits.ledgerEnds)
  }

  /** Whether there may be commits that were not read. */
  get isStale(): boolean {
    return this.#isFailing || !this.#versions.isListening
  }

  /** Adds a stream, and returns a function that removes it. */
  add(subscriber: TailListener): () => void {
    this.#subscribers.add(subscriber)
    return () => {
      this.#subscribers.delete(subscriber)
      this.rowFailures.reset(subscriber)
      if (this.#subscribers.size === 0) this.#forget()
    }
  }

  /**
   * Reads the position after all rows from the database, for a stream that begins now: for a few streams at once.
   * @param closing of the stream, which no longer waits for its turn then
   */
  async readEnd(sender: string, closing?: Cancellation): Promise<LedgerPosition> {
    return this.#limitEnds(sender, () => this.#failuresOfEnds.of(this.#readLogEnd()), closing)
  }

  /** Reads new commits, and then lets all streams read on. */
  wake(): void {
    if (this.#subscribers.size === 0) return
    this.#mayHaveMore = true
    if (!this.#isReading) void this.#readNewCommits()
  }

  /** Notes that notifications of commits have stopped, and sends `stale` to all streams. */
  onListeningStopped(): void {
    this.#fanOut([...this.#subscribers], (subscriber) => subscriber.onListeningStopped())
  }

  /** Returns the commits after a position that are in memory; if there are none yet, `wake` lets the stream read on. */
  commitsInMemory(position: LedgerPosition): NextCommits {
    if (isSamePlace(position, this.#end)) return none
    const place = position.seq - (this.#window[0]?.seq ?? Infinity)
    const last = this.#window[place]
    // It is older than those in memory, or was read from the database before this process was notified of its commit.
    if (last === undefined) return notInMemory
    if (last.version !== position.version || (position.rows ?? 0) > last.rows.length) return lost
    const later = this.#window.slice(position.rows === null ? place + 1 : place)
    const [first, ...others] = later
    if (first === undefined) return none
    const commits = position.rows === null ? later : [{ ...first, rows: first.rows.slice(position.rows) }, ...others]
    return { kind: 'commits', commits, end: this.#end ?? position }
  }

  /**
   * Reads a page of the commits after a position from the database, and passes it on: for a few streams at once, whose
   * senders take turns.
   * @param vaults that the stream is about; null for all
   * @param closing of the stream, which no longer waits for its turn then
   * @param take produces the rows and writes them. When `timeUp` is aborted it must not keep the page any more
   * @throws {RowsUnreadable} where they cannot be read although the database answers
   */
  async readPage<Result>(
    sender: string,
    position: LedgerPosition,
    vaults: readonly string[] | null,
    closing: Cancellation,
    take: (page: CommitPage | NoCommits, timeUp: Cancellation) => Promise<Result>,
  ): Promise<Result> {
    const produce = async (): Promise<{ readonly production: Promise<Result> }> => {
      const page = await wrapReadError(position, this.#readLogPage(position, vaults))
      return limitProductionTime(this.#limits.ledgerProductionMilliseconds, (timeUp) => take(page, timeUp))
    }
    return (await this.#limitPages(sender, produce, closing)).production
  }

  async #readNewCommits(): Promise<void> {
    this.#isReading = true
    clearTimeout(this.#retry)
    try {
      while (this.#mayHaveMore) {
        this.#mayHaveMore = false
        await this.#readNextPage()
      }
    } catch (error) {
      // Notifications may arrive, by a connection of their own, while reads fail.
      this.#failures.failed(error)
      this.#isFailing = true
      this.#fanOut([...this.#subscribers], (subscriber) => subscriber.sendStale())
      this.#retry = setTimeout(() => this.wake(), retryMilliseconds)
    }
    this.#isReading = false
  }

  async #readNextPage(): Promise<void> {
    const start = this.#end ?? (await this.#restart())
    const page = await this.#readLogPage(start, null, 'whole commits')
    if (page.kind === 'commits') {
      this.#append(page)
      this.#mayHaveMore ||= !page.isEnd
    } else if (page.kind !== 'none') await this.#restart()
    this.#isFailing = false
    this.#failures.reset()
    if (this.#subscribers.size === 0) this.#forget()
    this.#fanOut([...this.#subscribers], (subscriber) => subscriber.advance())
  }

  /** Begins anew at the end, without rows in memory: after the first stream came, or the history has changed. */
  async #restart(): Promise<LedgerPosition> {
    const end = await this.#readLogEnd()
    this.#window = []
    this.#end = end
    return end
  }

  /** Reads the commits after a position. No client has a row before the response cache was notified of its commit. */
  async #readLogPage(...asked: Parameters<LedgerLog['after']>): Promise<CommitPage | NoCommits> {
    const page = await this.#log.after(...asked)
    const newest = page.kind === 'commits' ? page.commits.at(-1) : undefined
    if (newest !== undefined) await this.#versions.untilNotified(newest)
    return page
  }

  /** Reads the end of the log, after which no client begins before the response cache was notified of it. */
  async #readLogEnd(): Promise<LedgerPosition> {
    const end = await this.#log.end()
    await this.#versions.untilNotified(end)
    return end
  }

  #append({ commits, end }: CommitPage): void {
    this.#end = end
    this.#window.push(...commits)
    let weight = 0
    // The newest commit is kept, however many rows it has.
    const kept = this.#window.findLastIndex(({ rows }) => {
      weight += 1 + rows.length
      return weight > this.#limits.ledgerWindow
    })
    this.#window.splice(0, Math.min(kept + 1, this.#window.length - 1))
  }

  #forget(): void {
    clearTimeout(this.#retry)
    this.#isFailing = false
    this.#failures.reset()
    this.#window = []
    this.#end = null
  }
}
