import { type Cancellation, Canceller } from '../../../database/cancellation.ts'
import { within } from '../../async/within.ts'

/**
 * Runs work in a turn that ends after a time, or with the work; the work may go on after it.
 * @param work is told by its turn, which is aborted then
 * @returns the work, in an object: a promise would be awaited
 */
export async function inTurn<Result>(
  milliseconds: number,
  work: (turn: Cancellation) => Promise<Result>,
): Promise<{ readonly working: Promise<Result> }> {
  const turn = new Canceller()
  const working = work(turn)
  await within(milliseconds, working)
  turn.abort()
  return { working }
}
