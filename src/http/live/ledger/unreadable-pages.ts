import { isTransient } from '../../../graphql/execution/errors.ts'
import { FailureReport } from '../../async/failure-report.ts'

/** Older rows that cannot be read, for a reason that does not pass by waiting alone, as an outage does. */
export class PageUnreadable extends Error {
  constructor(cause: unknown) {
    super('Older rows of the ledger cannot be read.', { cause })
    this.name = 'PageUnreadable'
  }
}

/** @throws the error of a read, as {@link PageUnreadable} unless it passes by waiting */
export function throwUnreadable(error: unknown): never {
  throw isTransient(error) ? error : new PageUnreadable(error)
}

/** Delays before such a read is made again, in milliseconds: the first one, and the longest. */
const pauses = { first: 1_000, longest: 60_000 } as const

/** The streams whose older rows cannot be read: the first failure is reported, and no more until all have been read. */
export class UnreadablePages {
  /** Number of failures in a row, by stream. */
  readonly #failuresOf = new Map<object, number>()
  readonly #report: FailureReport

  constructor(report: (error: unknown) => void) {
    this.#report = new FailureReport(report)
  }

  /** Notes a failure, and returns the delay before the next read of this stream, in milliseconds. */
  failed(stream: object, { cause }: PageUnreadable): number {
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
