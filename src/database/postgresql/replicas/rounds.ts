import { resultWithin } from '../../cancellation.ts'
import { Pauses } from '../../pauses.ts'

/** Minimum time between two rounds, however often they are requested. */
const minMilliseconds = 10

/** Repeats work with pauses, which {@link wake} cuts short. */
export class Rounds {
  readonly #work: () => Promise<void>
  readonly #pauses = new Pauses()
  #running: Promise<void> = Promise.resolve()
  #waiting: (() => void)[] = []

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  /** @param pauseMilliseconds returns the time to the next round */
  start(pauseMilliseconds: () => number): void {
    this.#running = (async () => {
      for (;;) {
        await this.#pauses.beforeNext(minMilliseconds, pauseMilliseconds())
        if (this.isStopped) return
        await this.#work()
        this.#resolveWaiting()
      }
    })()
  }

  /** Starts the next round soon. */
  wake(): void {
    this.#pauses.wake()
  }

  get isStopped(): boolean {
    return this.#pauses.isStopped
  }

  /** Resolves when the round that runs, or the next one, has ended. */
  next(): Promise<void> {
    if (this.isStopped) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  async stop(): Promise<void> {
    this.#pauses.stop()
    await this.#running
    this.#resolveWaiting()
  }

  #resolveWaiting(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}

/** Returns the result of work, or null where it takes longer than a time, which may be infinite. */
export async function nullIfLate<Result>(milliseconds: number, work: Promise<Result>): Promise<Result | null> {
  return milliseconds === Infinity ? work : resultWithin(milliseconds, work)
}
