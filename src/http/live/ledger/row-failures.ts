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
 * @throws its error, wrapped as {@link RowsUnreadable} unless it passes by waiting
 */
async function wrapError<Result>(which: string, work: Result | Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw isTransient(error) || error instanceof RowNotReady ? error : new RowsUnreadable(which, error)
  }
}

/** Returns the result of reading rows after a position; see {@link wrapError}. */
export function wrapReadError<Result>(position: LedgerPosition, read: Promise<Result>): Promise<Result> {
  return wrapError(`Ledger rows after ${formatLedgerPosition(position)} cannot be read`, read)
}

/** Returns the result of producing a row; see {@link wrapError}. Its failure need not be handled. */
export function wrapProductionError<Result>(row: StreamedRow, production: Result | Promise<Result>): Promise<Result> {
  const { cursor, vaultAddress, txHash, logIndex } = row
  const which = `The ledger row ${cursor} of vault ${vaultAddress} (transaction ${txHash}, log ${logIndex}) cannot be produced`
  const result = wrapError(which, production)
  result.catch(() => undefined)
  return result
}

/** Delays before rows that failed are read again, in milliseconds: the first one, and the longest. */
const pauses = { first: 1_000, longest: 60_000 } as const

/**
 * The streams whose next rows cannot be read or produced: the first failure is reported, and no more until all streams
 * have their rows.
 */
export class RowFailures {
  /** Number of failures in a row, by stream. */
  readonly #failuresOf = new Map<object, number>()
  readonly #report: FailureReport

  constructor(report: (error: unknown) => void) {
    this.#report = new FailureReport(report)
  }

  /** Records a failure, and returns the delay before the next read of this stream, in milliseconds. */
  failed(stream: object, error: RowsUnreadable): number {
    const failures = this.#failuresOf.get(stream) ?? 0
    this.#failuresOf.set(stream, failures + 1)
    this.#report.failed(error)
    return Math.min(pauses.longest, pauses.first * 2 ** failures)
  }

  /** Records that the rows of a stream were read and produced, or that it has closed. */
  reset(stream: object): void {
    if (this.#failuresOf.delete(stream) && this.#failuresOf.size === 0) this.#report.reset()
  }
}
