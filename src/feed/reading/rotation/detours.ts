/** Detours take at most this part of the time, however often lines come late. */
const maxPart = 1 / 20

/**
 * Limits how often a file is left for the one before it, to which a producer goes on writing: each time both are read
 * again from where that one began.
 */
export class Detours {
  #begunMilliseconds: number | null = null
  #nextMilliseconds = 0

  /** @param isLast whether there is no later time for it */
  mayBegin(isLast: boolean): boolean {
    return isLast || performance.now() >= this.#nextMilliseconds
  }

  begin(): void {
    this.#begunMilliseconds = performance.now()
  }

  /** Ends the detour, if there is one. */
  end(): void {
    if (this.#begunMilliseconds === null) return
    const now = performance.now()
    this.#nextMilliseconds = now + (now - this.#begunMilliseconds) / maxPart
    this.#begunMilliseconds = null
  }
}
