import type { Warn } from './read-pools.ts'
import { readAddress } from './server-address.ts'

/** Failures that end sooner, as by a restart of the server, are not reported. */
const toleratedMilliseconds = 2_000
/** Nor are so few of them in a row. */
const toleratedFailures = 3
/** Failures have ended when none follows for this time: a proxy may accept each connection, and close it at once. */
const settledMilliseconds = 5_000

/** Reports failures to receive commits that last or recur: once, with the newest reason, and once that they have ended. */
export class ListenWarnings {
  readonly #server: string
  readonly #warn: Warn
  /** Since when no commits are received, in milliseconds of performance.now(); null while they are. */
  #failingSince: number | null = null
  #failedLast = 0
  /** Number of times that commits were received no more, each soon after the last one. */
  #failures = 0
  #isWarned = false

  /** @param url address of the server */
  constructor(url: string, warn: Warn) {
    this.#server = `PostgreSQL at ${readAddress(url).name}`
    this.#warn = warn
  }

  failed(error: unknown): void {
    const now = performance.now()
    if (this.#failingSince === null) this.#failures++
    this.#failingSince ??= now
    this.#failedLast = now
    if (this.#isWarned) return
    if (now >= this.#failingSince + toleratedMilliseconds) {
      this.#isWarned = true
      this.#warn(`No commits are received from ${this.#server}: ${serverReason(error)}`)
    } else if (this.#failures > toleratedFailures) {
      this.#isWarned = true
      this.#warn(`The connection that receives commits from ${this.#server} breaks repeatedly: ${serverReason(error)}`)
    }
  }

  succeeded(): void {
    this.#failingSince = null
    if (this.#failures === 0 || performance.now() < this.#failedLast + settledMilliseconds) return
    if (this.#isWarned) this.#warn(`Commits are received from ${this.#server} again`)
    this.#failures = 0
    this.#isWarned = false
  }
}

/** Returns the reason of a failed connection or statement as the server or the driver states it. */
export function serverReason(error: unknown): string {
  // A refused connection to several addresses of one host name has a code but no message.
  const { message, code } = error as { message: string; code?: string }
  return message === '' ? String(code) : message
}
