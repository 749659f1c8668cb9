/**
 * Throttles reports of a frequent event: the first is sent immediately, later ones as a sum.
 * @param tell receives the number of events since the previous report
 * @param milliseconds minimum interval between two reports
 * @returns counts one event
 */
export function reportOccasionally(tell: (count: number) => void, milliseconds: number): () => void {
  let count = 0
  let isResting = false

  function report(): void {
    isResting = count > 0
    if (!isResting) return
    const told = count
    count = 0
    setTimeout(report, milliseconds).unref()
    tell(told)
  }

  return () => {
    count++
    if (!isResting) report()
  }
}
