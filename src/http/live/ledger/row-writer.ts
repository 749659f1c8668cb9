import { setImmediate } from 'node:timers/promises'
import type { Cancellation } from '../../../database/cancellation.ts'
import type { LedgerPosition } from '../../../graphql/ledger-log.ts'
import type { LiveLimits } from '../../../limits/live.ts'
import type { LiveConnection } from '../delivery/live-connection.ts'
import { wrapProductionError } from './row-failures.ts'
import type { MatchingRow } from './row-filter.ts'
import type { RowFormat, RowFrames } from './row-frames.ts'
import type { RowPace } from './row-pace.ts'

export interface RowWriterOptions {
  readonly limits: Pick<LiveLimits, 'rowsAtOnce' | 'rowBytesAtOnce'>
  /** Frames that streams share. */
  readonly frames: RowFrames
  readonly pace: Pick<RowPace, 'produce'>
  readonly connection: LiveConnection
  readonly format: RowFormat
  readonly onDelivery: () => void
}

/**
 * How rows were written: all of them; or not all, because the time is up or the client does not read; or the stream
 * was closed meanwhile.
 */
export type Written = 'all' | 'some' | 'closed'

/** Writes the rows of one stream: a group is produced at once, and written in order. */
export class RowWriter {
  /** Maximum number of rows of the next group: one, until its length is known. */
  #rowsAtOnce = 1

  /**
   * @param closing is aborted when the stream closes
   * @param onWritten called with the position after each row that was written
   */
  constructor(
    readonly options: RowWriterOptions,
    readonly closing: Cancellation,
    readonly onWritten: (position: LedgerPosition) => void,
  ) {}

  get #isClosed(): boolean {
    return this.closing.aborted
  }

  /**
   * Writes rows until the time is up: those in production then, or next, are the last ones, and the others are not kept.
   * @param rows in their order, which are removed as they are produced
   * @param timeUp of old rows, whose production other streams wait for, and which are produced at their pace
   */
  async write(rows: MatchingRow[], timeUp?: Cancellation): Promise<Written> {
    const { connection, pace } = this.options
    timeUp?.addEventListener('abort', { handleEvent: () => void (rows.length = 0) })
    const isOver = (): boolean => this.#isClosed || connection.isFull
    while (rows.length > 0) {
      const next = rows.splice(0, this.#rowsAtOnce)
      const writeNext = async (): Promise<void> => (this.#isClosed ? undefined : this.#writeGroup(next))
      await (timeUp === undefined ? writeNext() : pace.produce(writeNext))
      if (isOver()) break
      // Other work runs in between.
      if (rows.length > 0) await setImmediate()
    }
    if (this.#isClosed) return 'closed'
    return connection.isFull || timeUp?.aborted === true ? 'some' : 'all'
  }

  /** Produces a group of rows, and writes them until the client does not read, or the stream is closed. */
  async #writeGroup(group: readonly MatchingRow[]): Promise<void> {
    const { limits, connection, format, frames, onDelivery } = this.options
    const making = group.map((each) => ({
      ...each,
      frame: wrapProductionError(each.row, frames.of(each.row, format, this.closing)),
    }))
    let longest = 1
    // A row that cannot be produced holds back those after it, but not those before it.
    for (const { seq, version, row, frame } of making) {
      const made = await frame
      if (this.#isClosed || connection.isFull) return
      connection.write(made)
      onDelivery()
      this.onWritten({ seq, version, rows: Number(row.cursor.slice(version.length + 1)) })
      longest = Math.max(longest, made.length)
    }
    this.#rowsAtOnce = Math.max(1, Math.min(limits.rowsAtOnce, Math.floor(limits.rowBytesAtOnce / longest)))
  }
}
