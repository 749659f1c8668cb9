import { type Cancellation, Canceller } from '../../../database/cancellation.ts'
import { formatLedgerPosition, type LedgerPosition } from '../../../graphql/ledger-log.ts'
import type { DataVersions } from '../../cache/data-versions.ts'
import type { Drainable } from '../delivery/live-connection.ts'
import { eventFrame } from '../delivery/server-sent-events.ts'
import { AwaitedPosition } from './awaited-position.ts'
import type { NextCommits } from './next-commits.ts'
import type { LedgerTail, TailListener } from './ledger-tail.ts'
import { RowsUnreadable } from './row-failures.ts'
import { type MatchingRow, matchingRows, type RowFilter } from './row-filter.ts'
import { RowWriter, type RowWriterOptions } from './row-writer.ts'

/** The position at which a stream begins; with a reset where the client sent none of this gateway's. */
export type StartPosition = LedgerPosition | 'malformed'

export interface LedgerSubscriberOptions extends RowWriterOptions {
  readonly tail: LedgerTail
  readonly sender: string
  readonly filter: RowFilter
  readonly position: StartPosition
  readonly versions: DataVersions
}

/** Delay before the next attempt after a failed read, in milliseconds. */
const retryMilliseconds = 1_000

/**
 * One stream of ledger rows. It has a position of its own, and writes the rows after it one after the other: while its
 * client does not read it stops, and goes on from there.
 */
export class LedgerSubscriber implements TailListener, Drainable {
  readonly #options: LedgerSubscriberOptions
  #position: StartPosition
  #isRunning = false
  /** Whether there may be more rows since the run began. */
  #mayHaveMore = false
  /** Is aborted when the stream closes. */
  readonly #closing = new Canceller()
  readonly #writer: RowWriter
  #retry: NodeJS.Timeout | undefined
  /** Whether only the next retry reads on: new commits would have the same rows fail again. */
  #isResting = false
  readonly #awaited: AwaitedPosition

  constructor(options: LedgerSubscriberOptions) {
    this.#options = options
    this.#position = options.position
    this.#awaited = new AwaitedPosition(options.versions, () => this.advance())
    const { tail, connection } = options
    this.#writer = new RowWriter(options, this.#closing, (position) => {
      tail.rowFailures.reset(this)
      this.#position = position
    })
    const remove = tail.add(this)
    connection.heartbeatFrame = () => this.#heartbeat()
    connection.onClose(() => {
      this.#closing.abort()
      clearTimeout(this.#retry)
      this.#awaited.end()
      remove()
    })
    this.advance()
    tail.wake()
  }

  get #isClosed(): boolean {
    return this.#closing.aborted
  }

  onDrained(): void {
    this.advance()
  }

  /** Writes the rows after the position; without effect while that is done. */
  advance(): void {
    this.#mayHaveMore = true
    if (!this.#isRunning && !this.#isResting && !this.#isClosed) void this.#run()
  }

  sendStale(): void {
    const { connection, format } = this.#options
    if (connection.isFull) connection.whenDrained(this)
    else connection.sendStale(format.staleFrame)
  }

  onListeningStopped(): void {
    this.#awaited.restart()
    this.sendStale()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    clearTimeout(this.#retry)
    try {
      while (this.#mayHaveMore) {
        this.#mayHaveMore = false
        while (await this.#step());
      }
    } catch (error) {
      if (!this.#isClosed) this.#retryAfter(error)
    }
    this.#isRunning = false
  }

  #retryAfter(error: unknown): void {
    this.#options.connection.sendStale(this.#options.format.staleFrame)
    this.#isResting = error instanceof RowsUnreadable
    const { rowFailures } = this.#options.tail
    const milliseconds = error instanceof RowsUnreadable ? rowFailures.failed(this, error) : retryMilliseconds
    this.#retry = setTimeout(() => {
      this.#isResting = false
      this.advance()
    }, milliseconds)
  }

  /**
   * Writes the next rows.
   * @returns whether to go on at once
   */
  async #step(): Promise<boolean> {
    const { tail, connection } = this.#options
    if (this.#isClosed) return false
    if (connection.isFull) {
      connection.whenDrained(this)
      return false
    }
    const position = this.#position
    return position === 'malformed' ? this.#reset() : this.#take(position, tail.commitsInMemory(position))
  }

  async #take(position: LedgerPosition, next: NextCommits, timeUp?: Cancellation): Promise<boolean> {
    if (this.#isClosed) return false
    switch (next.kind) {
      case 'commits':
        this.#awaited.end()
        return this.#write(matchingRows(next.commits, this.#options.filter), next.end, timeUp)
      case 'none':
        this.#sendFreshness()
        return false
      case 'notInMemory':
        return this.#takeFromDatabase(position)
      case 'ahead':
        this.#await(position)
        return false
      case 'lost':
        return this.#reset()
    }
  }

  async #takeFromDatabase(position: LedgerPosition): Promise<boolean> {
    const { tail, sender, filter } = this.#options
    if (this.#awaited.isLost(position)) return this.#take(position, { kind: 'lost' })
    if (this.#awaited.isAhead(position)) return this.#take(position, { kind: 'ahead' })
    const vaults = filter.vaults && [...filter.vaults]
    return tail.readPage(sender, position, vaults, this.#closing, (page, timeUp) => this.#take(position, page, timeUp))
  }

  /** Waits for a server that lags behind the position of the stream. */
  #await(position: LedgerPosition): void {
    const { connection, format, tail } = this.#options
    tail.rowFailures.reset(this)
    this.#awaited.wait(position)
    if (this.#awaited.isLate) connection.sendStale(format.staleFrame)
  }

  /** Tells the client whether it is up to date: there are no rows after the position yet. */
  #sendFreshness(): void {
    const { connection, format, tail } = this.#options
    this.#awaited.end()
    tail.rowFailures.reset(this)
    if (tail.isStale) connection.sendStale(format.staleFrame)
    else if (connection.hasSentStale) {
      connection.hasSentStale = false
      connection.write(format.freshFrame)
    }
  }

  /** @param end position after the rows; the commits themselves are not kept while rows are produced */
  async #write(rows: MatchingRow[], end: LedgerPosition, timeUp?: Cancellation): Promise<boolean> {
    const written = await this.#writer.write(rows, timeUp)
    if (written === 'all') this.#position = end
    return written !== 'closed'
  }

  /** Begins anew at the end, after the position was lost by a failover, or is not kept any more. */
  async #reset(): Promise<boolean> {
    const { tail, sender, connection, format } = this.#options
    this.#awaited.end()
    tail.rowFailures.reset(this)
    const position = await tail.readEnd(sender, this.#closing)
    if (this.#isClosed) return false
    const { frame, isEnd } = format.reset(formatLedgerPosition(position))
    this.#position = position
    if (!isEnd) connection.write(frame)
    else connection.end(frame)
    return !isEnd
  }

  /** Returns a frame that moves the client's position on, so that it stays among those that are kept. */
  #heartbeat(): Buffer | null {
    if (this.#isRunning || this.#position === 'malformed') return null
    return eventFrame({ id: formatLedgerPosition(this.#position) })
  }
}
