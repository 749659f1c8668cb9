import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import type { ChangeListener, StopListening } from './change-listener.ts'
import { CommitReader, type ReadLog } from './commit-reader.ts'

/** How often the log is read, also where nothing wakes up, as on a standby, which has no NOTIFY. */
const pollMilliseconds = 100
/** However often it is woken up, there is so much time between two polls. */
const leastPollMilliseconds = 10
/** How long after a failure the next attempt begins. */
const retryMilliseconds = 500

/** A connection to a server's log. */
export interface LogConnection {
  readonly read: ReadLog
  close(): Promise<void>
}

export interface PollingOptions {
  /** @param wake has the next poll begin at once */
  readonly connect: (wake: () => void) => Promise<LogConnection>
  /** A poll that takes longer fails, since nothing is known of the commits meanwhile; null where none can be missed. */
  readonly answerMilliseconds: number | null
}

/** Has a listener told of commits until it is stopped; what fails is tried again. */
export function pollCommits(options: PollingOptions, listener: ChangeListener): StopListening {
  const pace = new Pace()
  const ended = (async () => {
    while (!pace.isStopped) {
      await pollUntilFailure(options, listener, pace)
      await pace.pause(retryMilliseconds)
    }
  })()
  return () => {
    pace.stop()
    return ended
  }
}

async function pollUntilFailure(
  { connect, answerMilliseconds }: PollingOptions,
  listener: ChangeListener,
  pace: Pace,
): Promise<void> {
  let connection: LogConnection | null = null
  let reader: CommitReader | null = null
  try {
    connection = await connect(() => pace.wake())
    const { read } = connection
    reader = new CommitReader((...asked) => inTime(read(...asked), answerMilliseconds), listener)
    while (!pace.isStopped) {
      await reader.poll()
      await pace.untilNext()
    }
  } catch {
    // It is tried again.
  } finally {
    reader?.lose()
    await connection?.close()
  }
}

/** @throws where the answer is late, and not only seen late by a busy process */
async function inTime<Result>(answer: Promise<Result>, milliseconds: number | null): Promise<Result> {
  if (milliseconds === null) return answer
  const answered = new AbortController()
  const late = async (): Promise<never> => {
    await wait(milliseconds, undefined, { signal: answered.signal })
    await nextTurn()
    throw new Error(`the commit log was not read in ${milliseconds} ms`)
  }
  try {
    return await Promise.race([answer, late()])
  } finally {
    answered.abort()
  }
}

/** The pauses between polls. */
class Pace {
  isStopped = false
  #isWoken = false
  #end: () => void = () => undefined

  wake(): void {
    this.#isWoken = true
    this.#end()
  }

  stop(): void {
    this.isStopped = true
    this.#end()
  }

  async untilNext(): Promise<void> {
    await this.pause(leastPollMilliseconds, false)
    await this.pause(pollMilliseconds, true)
    this.#isWoken = false
  }

  /** @param canWake whether it ends when it is woken */
  pause(milliseconds: number, canWake = false): Promise<void> {
    if (this.isStopped || (canWake && this.#isWoken)) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.#end = () => {
        if (!canWake && !this.isStopped) return
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
