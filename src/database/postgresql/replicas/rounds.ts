import { setTimeout as wait } from 'node:timers/promises'

/** Minimum time between two rounds, however often they are requested. */
const minMilliseconds = 10

/** Repeats work with pauses, which {@link wake} cuts short. */
export class Rounds {
  readonly #work: () => Promise<void>
  #isStopped = false
  #isWoken = false
  #endPause: () => void = () => undefined
  #running: Promise<void> = Promise.resolve()
  #waiting: (() => void)[] = []

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  /** @param pauseMilliseconds returns the time to the next round */
  start(pauseMilliseconds: () => number): void {
    this.#running = (async () => {
      for (;;) {
        await this.#pause(minMilliseconds, false)
        await this.#pause(pauseMilliseconds() - minMilliseconds, true)
        this.#isWoken = false
        if (this.#isStopped) return
        await this.#work()
        this.#resolveWaiting()
      }
    })()
  }

  /** Starts the next round soon. */
  wake(): void {
    this.#isWoken = true
    this.#endPause()
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Resolves when the round that runs, or the next one, has ended. */
  next(): Promise<void> {
    if (this.#isStopped) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.wake()
    await this.#running
    this.#resolveWaiting()
  }

  #resolveWaiting(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  #pause(milliseconds: number, canWake: boolean): Promise<void> {
    if (this.#isStopped || (canWake && this.#isWoken)) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.#endPause = () => {
        if (!canWake && !this.#isStopped) return
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

/** Returns the result of work; null where it takes longer. */
export async function nullIfLate<Result>(milliseconds: number, work: Promise<Result>): Promise<Result | null> {
  if (milliseconds === Infinity) return work
  const answered = new AbortController()
  const late = wait(milliseconds, null, { signal: answered.signal }).catch(() => null)
  return Promise.race([work, late]).finally(() => answered.abort())
}
