import { ChainUnreadable } from '../../errors.ts'
import type { FaultTimes, Report } from '../fault-watch.ts'
import type { FinalHeader } from '../finality.ts'

/** Number of wrong final blocks, with no block read in between, from which on they count as a lasting fault. */
const lastingFrom = 3
/** Number of them after which a reader that does not follow the chain gives up, where they last. */
const givesUpAfter = 5

/** Options of {@link WrongFinals}. */
export interface WrongFinalsOptions {
  readonly report: Report
  /** Whether the reader ends at the newest final block. */
  readonly once: boolean
  readonly times: FaultTimes
}

/** Reports blocks that nodes have named as final, and that are not there. */
export class WrongFinals {
  #times = 0
  /** Number since a block was last read. */
  #inVain = 0
  #since = 0

  constructor(readonly options: WrongFinalsOptions) {}

  /** Notes that blocks were read. */
  reset(): void {
    this.#inVain = 0
  }

  /**
   * Adds a wrong final block. The 1st, 2nd, 4th, 8th … is logged, also of those that last: many may have passed before.
   * @param missing the block below it that is not there
   * @throws {ChainUnreadable} when a reader that does not follow the chain has met too many for too long
   */
  add({ number: final, node }: FinalHeader, missing: number): void {
    const { report, once, times: faultTimes } = this.options
    const now = performance.now()
    if (this.#inVain === 0) this.#since = now
    this.#inVain++
    const times = ++this.#times
    const isLasting = this.#inVain >= lastingFrom
    const isLastingDue = isLasting && (this.#inVain === lastingFrom || isPowerOfTwo(this.#inVain))
    if (isLastingDue || isPowerOfTwo(times)) {
      report(isLasting ? 'error' : 'warn', 'A block is named as final that is not there', {
        node,
        final,
        missing,
        times,
      })
    }
    const lasted = now - this.#since
    const isOver = this.#inVain >= givesUpAfter && lasted >= faultTimes.reportedAfter + faultTimes.givesUpAfter
    if (!once || !isOver) return
    const problem = `the node ${node} names block ${final} as final, and block ${missing} isn't there`
    throw new ChainUnreadable(problem, Math.round(lasted / 1_000))
  }
}

function isPowerOfTwo(number: number): boolean {
  return Number.isInteger(Math.log2(number))
}
