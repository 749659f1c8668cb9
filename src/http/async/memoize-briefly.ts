/**
 * Makes something at most once in a while for all who ask, however often they do. All who ask while it is being made
 * wait for it; then it is kept for a time. What failed is not kept.
 * @param milliseconds from when it was made
 */
export function memoizeBriefly<Value>(make: () => Promise<Value>, milliseconds: number): () => Promise<Value> {
  let kept: Promise<Value> | undefined
  /** By the monotonic clock; infinite while it is being made. */
  let until = 0

  function begin(): Promise<Value> {
    until = Infinity
    const making = make()
    making.then(
      () => (until = performance.now() + milliseconds),
      () => (until = 0),
    )
    return making
  }

  return () => {
    if (kept === undefined || performance.now() >= until) kept = begin()
    return kept
  }
}
