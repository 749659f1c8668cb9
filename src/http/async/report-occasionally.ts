/**
 * Throttles reports of a frequent event: the first is sent immediately, later ones as a sum.
 * @param report receives the number of events since the previous report
 * @param milliseconds minimum interval between two reports
 * @returns counts one event
 */
export function reportOccasionally(report: (count: number) => void, milliseconds: number): () => void {
  let count = 0
  let isResting = false

  function flush(): void {
    isResting = count > 0
    if (!isResting) return
    const reported = count
    count = 0
    setTimeout(flush, milliseconds).unref()
    report(reported)
  }

  return () => {
    count++
    if (!isResting) flush()
  }
}
