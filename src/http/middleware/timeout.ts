import { type Cancellation, Canceller } from '../../database/cancellation.ts'

/** Work of a request, which ends by itself where its signal says that nobody waits for it any more. */
export type Work<Result> = (signal: Cancellation) => Promise<Result>

/**
 * What the work comes to, or what to say where it takes too long; then the work is given up.
 * @param onLeave is told how to give up where the client leaves before
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
    work(canceller)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer))
  })
}
