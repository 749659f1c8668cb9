import { type Cancellation, Canceller } from '../../database/cancellation.ts'

/** Work of a request, which ends by itself once its signal is aborted. */
export type Work<Result> = (signal: Cancellation) => Promise<Result>

/**
 * Returns the result of the work, or a fallback if it exceeds the deadline; the work is then cancelled.
 * @param onLeave registers the callback that cancels the work when the client disconnects
 */
export function withinDeadline<Result>(
  seconds: number,
  onLeave: (giveUp: () => void) => void,
  work: Work<Result>,
  tooLate: () => Result,
): Promise<Result> {
  const canceller = new Canceller()
  onLeave(() => canceller.abort())
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      resolve(tooLate())
      canceller.abort()
    }, seconds * 1000)
    const inTime = (): void => clearTimeout(timer)
    const working = work(canceller)
    working.then(inTime, inTime)
    working.then(resolve, reject)
  })
}
