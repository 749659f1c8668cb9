import type { Cancellation } from './cancellation.ts'

/** A read that was given up before its end: nobody waits for it any more, or it took too long. */
export class ReadCancelled extends Error {
  constructor(cause?: unknown) {
    super('The read was cancelled.', { cause })
    this.name = 'ReadCancelled'
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
