/** A read that was given up before its end: nobody waits for it any more, or it took too long. */
export class ReadCancelled extends Error {
  constructor(cause?: unknown) {
    super('The read was cancelled.', { cause })
    this.name = 'ReadCancelled'
  }
}

/** Fails where a read needn't begin. */
export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new ReadCancelled(signal.reason)
}

/**
 * What the work comes to, unless it is given up before.
 * @throws {ReadCancelled}
 */
export function untilCancelled<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const cancel = (): void => reject(new ReadCancelled(signal.reason))
    signal.addEventListener('abort', cancel, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', cancel))
    if (signal.aborted) cancel()
  })
}
