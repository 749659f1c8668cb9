/** A promise with the function that resolves it. */
export interface Deferred {
  readonly promise: Promise<void>
  readonly resolve: () => void
}

/** Creates a pending promise. */
export function deferred(): Deferred {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}
