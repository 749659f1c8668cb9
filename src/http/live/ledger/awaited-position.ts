import { versionLimits } from '../../../limits.ts'
import type { DataVersions } from '../../cache/data-versions.ts'

/** Interval at which the database is asked for the position again, in milliseconds. */
const lookMilliseconds = 1_000

/**
 * The wait of a stream for its position, which the server that is read from does not have: a standby that lags behind will
 * have it, and after a failover that has lost it no server will.
 */
export class AwaitedPosition {
  readonly #data: DataVersions
  readonly #look: () => void
  /** When the server was first found not to have it, in milliseconds of performance.now(). */
  #since: number | null = null
  #timer: NodeJS.Timeout | undefined

  /** @param look reads the position again */
  constructor(data: DataVersions, look: () => void) {
    this.#data = data
    this.#look = look
  }

  /** Whether it is not yet time to read it again. */
  get isResting(): boolean {
    return this.#timer !== undefined
  }

  /** Whether it has been waited for as long as a request waits for its data version. */
  get isLate(): boolean {
    return this.#since !== null && performance.now() - this.#since >= versionLimits.waitMilliseconds
  }

  /**
   * Whether a server that still does not have it never will: this process has heard of every commit until the wait began, and
   * the client had the position before.
   */
  get isLost(): boolean {
    return this.isLate && this.#since !== null && this.#data.isProvenSince(this.#since)
  }

  wait(): void {
    this.#since ??= performance.now()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#look()
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
