import { setImmediate as nextIteration, setTimeout as wait } from 'node:timers/promises'
import { Pauses } from '../pauses.ts'
import type { ChangeListener, CommitReports } from './change-listener.ts'
import { CommitReader, type ReadLog } from './commit-reader.ts'

/** Interval of polls where no notification arrives, as on a standby, which does not deliver NOTIFY. */
const pollMilliseconds = 100
/** Minimum time between two polls, however many notifications or requests for a poll arrive. */
const minPollMilliseconds = 10
/** Delay before the next attempt after a failure. */
const retryMilliseconds = 500

/** A connection to the commit log of a server. */
export interface LogConnection {
  readonly read: ReadLog
  close(): Promise<void>
}

/** Observes how polls end. */
export interface PollOutcome {
  /** Called when a connection or a poll fails; another attempt follows. */
  failed(error: unknown): void
  /** Called after each poll that has read the log to its end. */
  succeeded(): void
}

/** Options of {@link pollCommits}. */
export interface PollingOptions {
  /** Opens a connection. `wake` starts the next poll immediately. */
  readonly connect: (wake: () => void) => Promise<LogConnection>
  /** Timeout of a poll, because commits are unknown until it answers; null where no other process can commit. */
  readonly answerMilliseconds: number | null
  readonly outcome?: PollOutcome
  /** Called in place of `upToDate` where the server is a standby: see {@link CommitReader}. */
  readonly onStandby?: (() => void) | undefined
}

/**
 * Polls the commit log and reports commits to a listener until it is stopped. Reconnects after failures.
 */
export function pollCommits(options: PollingOptions, listener: ChangeListener): CommitReports {
  const pauses = new Pauses()
  const ended = (async () => {
    while (!pauses.isStopped) {
      await pollUntilFailure(options, listener, pauses)
      await pauses.pause(retryMilliseconds)
    }
  })()
  return {
    pollSoon: () => pauses.wake(),
    stop() {
      pauses.stop()
      return ended
    },
  }
}

async function pollUntilFailure(
  { connect, answerMilliseconds, outcome, onStandby }: PollingOptions,
  listener: ChangeListener,
  pauses: Pauses,
): Promise<void> {
  let connection: LogConnection | null = null
  let reader: CommitReader | null = null
  try {
    connection = await connect(() => pauses.wake())
    const { read } = connection
    reader = new CommitReader((...args) => withTimeout(read(...args), answerMilliseconds), listener, onStandby)
    while (!pauses.isStopped) {
      await reader.poll()
      outcome?.succeeded()
      await pauses.beforeNext(minPollMilliseconds, pollMilliseconds)
    }
  } catch (error) {
    // The caller retries.
    if (!pauses.isStopped) outcome?.failed(error)
  } finally {
    reader?.disconnect()
    await connection?.close()
  }
}

/** @throws when there is no answer in time, not counting a delay of this process's own event loop */
async function withTimeout<Result>(answer: Promise<Result>, milliseconds: number | null): Promise<Result> {
  if (milliseconds === null) return answer
  const answered = new AbortController()
  const late = async (): Promise<never> => {
    await wait(milliseconds, undefined, { signal: answered.signal })
    await nextIteration()
    throw new Error(`the commit log was not read in ${milliseconds} ms`)
  }
  try {
    return await Promise.race([answer, late()])
  } finally {
    answered.abort()
  }
}
