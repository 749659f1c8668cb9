import type { Warn } from './read-pools.ts'
import { readAddress } from './server-address.ts'

/** Failures that end sooner, as by a restart of the server, are not reported. */
const toleratedMilliseconds = 2_000

/** Reports failures to receive commits that last: once, with the newest reason, and once that they have ended. */
export class ListenWarnings {
  readonly #server: string
  readonly #warn: Warn
  #failingSince: number | null = null
  #isWarned = false

  /** @param url address of the server */
  constructor(url: string, warn: Warn) {
    this.#server = `PostgreSQL at ${readAddress(url).name}`
    this.#warn = warn
  }

  failed(error: unknown): void {
    const now = performance.now()
    this.#failingSince ??= now
    if (this.#isWarned || now < this.#failingSince + toleratedMilliseconds) return
    this.#isWarned = true
    this.#warn(`No commits are received from ${this.#server}: ${serverReason(error)}`)
  }

  succeeded(): void {
    if (this.#isWarned) this.#warn(`Commits are received from ${this.#server} again`)
    this.#failingSince = null
    this.#isWarned = false
  }
}

/** Returns the reason of a failed connection or statement as the server or the driver states it. */
export function serverReason(error: unknown): string {
  // A refused connection to several addresses of one host name has a code but no message.
  const { message, code } = error as { message: string; code?: string }
  return message === '' ? String(code) : message
}
