import { isTransient } from '../../../graphql/execution/errors.ts'
import { formatLedgerPosition, type LedgerPosition, type StreamedRow } from '../../../graphql/ledger-log.ts'
import { FailureReport } from '../../async/failure-report.ts'

/** Rows that cannot be read or produced, for a reason that does not pass by waiting alone, as an outage does. */
export class RowsUnreadable extends Error {
  /** @param which the rows, and what cannot be done with them */
  constructor(which: string, cause: unknown) {
    super(`${which}: the streams of these rows wait, and try again.`, { cause })
    this.name = 'RowsUnreadable'
  }
}

/** A row that cannot be produced now, for a reason that passes by waiting. */
export class RowNotReady extends Error {
  override readonly name = 'RowNotReady'
}

/**
 * Returns the result of reading or producing rows.
 * @param which the rows, and what cannot be done with them
 * @throws its error, as {@link RowsUnreadable} unless it passes by waiting
 */
async function rowsOr<Result>(which: string, work: Result | Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw isTransient(error) || error instanceof RowNotReady ? error : new RowsUnreadable(which, error)
  }
}

/** Returns the rows after a position; see {@link rowsOr}. */
export function readable<Result>(position: LedgerPosition, read: Promise<Result>): Promise<Result> {
  return rowsOr(`Ledger rows after ${formatLedgerPosition(position)} cannot be read`, read)
}

/** Returns what is produced of a row; see {@link rowsOr}. Its failure need not be handled. */
export function producible<Result>(row: StreamedRow, production: Result | Promise<Result>): Promise<Result> {
  const { cursor, vaultAddress, txHash, logIndex } = row
  const which = `The ledger row ${cursor} of vault ${vaultAddress} (transaction ${txHash}, log ${logIndex}) cannot be produced`
  const result = rowsOr(which, production)
  result.catch(() => undefined)
  return result
}

/** Delays before such rows are read again, in milliseconds: the first one, and the longest. */
const pauses = { first: 1_000, longest: 60_000 } as const

/** The streams whose rows cannot be read: the first failure is reported, and no more until all have been read. */
export class UnreadableRows {
  /** Number of failures in a row, by stream. */
  readonly #failuresOf = new Map<object, number>()
  readonly #report: FailureReport

  constructor(report: (error: unknown) => void) {
    this.#report = new FailureReport(report)
  }

  /** Notes a failure, and returns the delay before the next read of this stream, in milliseconds. */
  failed(stream: object, error: RowsUnreadable): number {
    const failures = this.#failuresOf.get(stream) ?? 0
    this.#failuresOf.set(stream, failures + 1)
    this.#report.failed(error)
    return Math.min(pauses.longest, pauses.first * 2 ** failures)
  }

  /** Notes that the rows of a stream were read, or that it has closed. */
  passed(stream: object): void {
    if (this.#failuresOf.delete(stream) && this.#failuresOf.size === 0) this.#report.reset()
  }
}
