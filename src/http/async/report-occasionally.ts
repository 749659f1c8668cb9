/**
 * Reports something that may happen very often: the first time at once, then in sums.
 * @param tell is told how often it has happened since it was last told
 * @param milliseconds at least between two reports
 * @returns counts one time that it happens
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
