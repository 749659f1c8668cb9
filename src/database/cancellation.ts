import { ReadCancelled } from './errors.ts'
/** Is told that nobody waits any more. */
export interface Waiter {
  handleEvent(): void
}

/** Tells that nobody waits for a work any more: an AbortSignal does. */
export interface Cancellation {
  readonly aborted: boolean
  addEventListener(type: 'abort', waiter: Waiter): void
  removeEventListener(type: 'abort', waiter: Waiter): void
}

/** What each request has one of, and each of its reads waits on: a small part of what an AbortController costs. */
export class Canceller implements Cancellation {
  aborted = false
  #waiters = new Set<Waiter>()

  addEventListener(_: 'abort', waiter: Waiter): void {
    this.#waiters.add(waiter)
  }

  removeEventListener(_: 'abort', waiter: Waiter): void {
    this.#waiters.delete(waiter)
  }

  /** Tells those who wait, once. */
  abort(): void {
    if (this.aborted) return
    this.aborted = true
    const waiters = this.#waiters
    this.#waiters = new Set()
    for (const waiter of waiters) waiter.handleEvent()
  }
}

/** Fails where a read needn't begin. */
export function throwIfCancelled(signal: Cancellation | undefined): void {
  if (signal?.aborted === true) throw new ReadCancelled()
}

/**
 * What the work comes to, unless it is given up before.
 * @throws {ReadCancelled}
 */
export function untilCancelled<Result>(work: Promise<Result>, signal: Cancellation | undefined): Promise<Result> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const cancel = { handleEvent: (): void => reject(new ReadCancelled()) }
    signal.addEventListener('abort', cancel)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', cancel))
    if (signal.aborted) cancel.handleEvent()
  })
}
