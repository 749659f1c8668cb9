import { throwIfCancelled } from './cancelled.ts'

/** Runs work one after another. What is given up while it waits for its turn is not begun. */
export function inTurn(): <Result>(work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (work, signal) => {
    const turn = last.then(() => {
      throwIfCancelled(signal)
      return work()
    })
    last = turn.catch(() => undefined)
    return turn
  }
}
