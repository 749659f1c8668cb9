import { isTransient } from '../../../graphql/execution/errors.ts'
import { FailureReport } from '../../async/failure-report.ts'

/** Rows that cannot be read or produced, for a reason that does not pass by waiting alone, as an outage does. */
export class RowsUnreadable extends Error {
  constructor(cause: unknown) {
    super('Rows of the ledger cannot be read.', { cause })
    this.name = 'RowsUnreadable'
  }
}

/** A row that cannot be produced now, for a reason that passes by waiting. */
export class RowNotReady extends Error {
  override readonly name = 'RowNotReady'
}

/** @throws the error of reading or producing rows, as {@link RowsUnreadable} unless it passes by waiting */
export function throwUnreadable(error: unknown): never {
  throw isTransient(error) || error instanceof RowNotReady ? error : new RowsUnreadable(error)
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
  failed(stream: object, { cause }: RowsUnreadable): number {
    const failures = this.#failuresOf.get(stream) ?? 0
    this.#failuresOf.set(stream, failures + 1)
    this.#report.failed(cause)
    return Math.min(pauses.longest, pauses.first * 2 ** failures)
  }

  /** Notes that the rows of a stream were read, or that it has closed. */
  passed(stream: object): void {
    if (this.#failuresOf.delete(stream) && this.#failuresOf.size === 0) this.#report.reset()
  }
}
