/**
 * Caches the result of an asynchronous function for a time. Concurrent calls share one run; a rejection is not cached.
 * @param make computes the value
 * @param milliseconds time to live, from when the promise resolves
 */
export function memoizeBriefly<Value>(make: () => Promise<Value>, milliseconds: number): () => Promise<Value> {
  let kept: Promise<Value> | undefined
  /** Expiry by the monotonic clock, in milliseconds; infinite while the function runs. */
  let until = 0

  function renew(): Promise<Value> {
    until = Infinity
    const making = make()
    making.then(
      () => (until = performance.now() + milliseconds),
      () => (until = 0),
    )
    return making
  }

  return () => {
    if (kept === undefined || performance.now() >= until) kept = renew()
    return kept
  }
}
