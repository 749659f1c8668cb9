import type { LedgerPosition } from '../../../graphql/ledger-log.ts'
import { versionLimits } from '../../../limits.ts'
import type { DataVersions } from '../../cache/data-versions.ts'

/** Interval at which a stream looks whether its wait has ended, in milliseconds. */
const lookMilliseconds = 1_000

/**
 * The wait of a stream for its position, which the server that is read from does not have: a standby that lags behind will
 * have it, and after a failover that has lost it no server will. The database is not queried meanwhile: after a failover all
 * streams may wait at once, and this process is notified of the commit that ends the wait.
 */
export class AwaitedPosition {
  readonly #versions: DataVersions
  readonly #look: () => void
  /** When the server was first found not to have it, in milliseconds of performance.now(). */
  #since: number | null = null
  #timer: NodeJS.Timeout | undefined

  /** @param look looks whether the wait has ended; the newest commits wake the stream besides */
  constructor(versions: DataVersions, look: () => void) {
    this.#versions = versions
    this.#look = look
  }

  /** Whether it has been waited for as long as a request waits for its data version. */
  get isLate(): boolean {
    return this.#since !== null && performance.now() - this.#since >= versionLimits.waitMilliseconds
  }

  /** Returns whether the server is known not to have a position, so that it need not be read. */
  isAhead({ seq }: LedgerPosition): boolean {
    const { newestSeq, isListening } = this.#versions
    if (newestSeq !== null) return seq > newestSeq
    return this.#since !== null && !isListening
  }

  /**
   * Returns whether no server will have a position: this process was notified of every commit until the wait began, and the
   * client had the position before.
   */
  isLost(position: LedgerPosition): boolean {
    return this.#since !== null && this.isLate && this.#versions.isProvenMissing(position, this.#since)
  }

  wait(position: LedgerPosition): void {
    this.#since ??= performance.now()
    const wasAhead = this.isAhead(position)
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      // It has come: the stream is woken when its commit has been read for all.
      if (wasAhead && this.#versions.hasReached(position)) this.wait(position)
      else this.#look()
    }, lookMilliseconds)
  }

  /** Waits from now on, because another server may be read from. */
  restart(): void {
    if (this.#since !== null) this.#since = performance.now()
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#since = null
  }
}
