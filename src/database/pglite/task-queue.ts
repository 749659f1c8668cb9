import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Cancellation } from '../cancellation.ts'
import { throwIfCancelled } from '../cancellation.ts'

/**
 * Runs work alone, in the order it came.
 * @param signal what is given up while it waits for its turn is not begun
 */
export type TaskQueue = <Result>(work: () => Promise<Result>, signal?: Cancellation) => Promise<Result>

/** One piece of work at a time. What is long takes turns with what is short, and lets the network in between. */
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
