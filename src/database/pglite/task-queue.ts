import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Cancellation } from '../cancellation.ts'
import { throwIfCancelled } from '../cancellation.ts'

/**
 * Runs tasks exclusively, in the order of the calls.
 * @param signal a task that is cancelled before its start is skipped
 * @throws {ReadCancelled} when it was skipped
 */
export type TaskQueue = <Result>(work: () => Promise<Result>, signal?: Cancellation) => Promise<Result>

/**
 * Creates two queues of which one task runs at a time. Long and short tasks alternate, and the event loop runs before
 * and after long ones.
 */
export function createTaskQueues(): { readonly short: TaskQueue; readonly long: TaskQueue } {
  const waiting = { short: [] as (() => Promise<void>)[], long: [] as (() => Promise<void>)[] }
  let isRunning = false
  let wasLong = false

  async function runAll(): Promise<void> {
    if (isRunning) return
    isRunning = true
    for (let run = next(); run !== undefined; run = next()) {
      await run()
      if (wasLong) await nextTurn()
    }
    isRunning = false
  }

  function next(): (() => Promise<void>) | undefined {
    const { short, long } = waiting
    wasLong = short.length === 0 || (long.length > 0 && !wasLong)
    return (wasLong ? long : short).shift()
  }

  function queue(kind: keyof typeof waiting): TaskQueue {
    return (work, signal) =>
      new Promise((resolve, reject) => {
        waiting[kind].push(async () => {
          const done = Promise.resolve().then(() => {
            throwIfCancelled(signal)
            return work()
          })
          done.then(resolve, reject)
          await done.catch(() => undefined)
        })
        void runAll()
      })
  }

  return { short: queue('short'), long: queue('long') }
}
