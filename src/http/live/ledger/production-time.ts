import { type Cancellation, Canceller } from '../../../database/cancellation.ts'
import { within } from '../../async/within.ts'

/**
 * Runs the production of rows, and waits for its end, but no longer than a time: it may go on after it.
 * @param produce takes a signal, which is aborted when the time is up
 * @returns the production, in an object: a promise would be awaited
 */
export async function limitProductionTime<Result>(
  milliseconds: number,
  produce: (timeUp: Cancellation) => Promise<Result>,
): Promise<{ readonly production: Promise<Result> }> {
  const timeUp = new Canceller()
  const production = produce(timeUp)
  await within(milliseconds, production)
  timeUp.abort()
  return { production }
}
