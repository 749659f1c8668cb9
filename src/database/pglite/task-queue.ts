import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Cancellation } from '../cancellation.ts'
import type { AnyStatement, StatementReader, Value } from '../database.ts'
import { ReadCancelled } from '../errors.ts'
import type { StatementRunner } from './prepared-statements.ts'

/**
 * Runs tasks exclusively, in the order of the calls.
 * @param signal a task that is cancelled before its start is skipped
 * @throws {ReadCancelled} when it was skipped
 */
export type TaskQueue = <Result>(work: () => Promise<Result>, signal?: Cancellation) => Promise<Result>

/** The queues of one database. */
interface TaskQueues {
  readonly short: TaskQueue
  readonly long: TaskQueue
}

/** Maximum time of short tasks before the event loop runs. */
const maxBlockedMilliseconds = 5

/**
 * Creates two queues that run one task at a time between them. Long and short tasks alternate. The event loop runs after each
 * long task, and once consecutive short tasks have taken {@link maxBlockedMilliseconds}.
 */
export function createTaskQueues(): TaskQueues {
  /** Functions that start the waiting tasks, in their order. */
  const short: (() => void)[] = []
  const long: (() => void)[] = []
  let isRunning = false
  let iterationStartedAt = 0

  /** Starts the next task, of the other kind if one waits. */
  async function beginNext(wasLong: boolean): Promise<void> {
    if (wasLong || performance.now() - iterationStartedAt > maxBlockedMilliseconds) {
      await nextIteration()
      iterationStartedAt = performance.now()
    }
    const begin = wasLong ? (short.shift() ?? long.shift()) : (long.shift() ?? short.shift())
    if (begin === undefined) isRunning = false
    else begin()
  }

  function queue(waiting: (() => void)[], isLong: boolean): TaskQueue {
    return async (work, signal) => {
      if (isRunning) await new Promise<void>((begin) => waiting.push(begin))
      else {
        isRunning = true
        iterationStartedAt = performance.now()
      }
      try {
        if (signal?.aborted === true) throw new ReadCancelled()
        return await work()
      } finally {
        void beginNext(isLong)
      }
    }
  }

  return { short: queue(short, false), long: queue(long, true) }
}

/**
 * Returns the reader of PGlite. Each read runs in the queue of its kind, because a running statement blocks the whole process
 * and cannot be cancelled.
 */
export function queuedReader(
  { short, long }: TaskQueues,
  { readOutsideTransaction }: StatementRunner,
): StatementReader {
  return {
    read: <Row>(read: AnyStatement, values: readonly Value[], signal?: Cancellation) =>
      (read.isLong === true ? long : short)(() => readOutsideTransaction<Row>(read, values), signal),
  }
}
