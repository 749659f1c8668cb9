import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '../../database/database.ts'

/** Seconds that the feed, its writers and then the database have to close each: after the requests, or after the signal. */
export const closeSeconds = 5
/** Time from the end of a command to its exit where connections or requests are still open. */
const exitMilliseconds = 100

/** Closes the database at the end of a command. Connections to a server that does not answer do not keep the process alive. */
export async function closeAtEnd(database: Database): Promise<void> {
  await withinSeconds(closeSeconds, database.close())
  exitAtEnd()
}

/** Ends the process at the end of a command, though connections or requests to servers are open. */
export function exitAtEnd(): void {
  // By then the exit code is set, and an error is printed.
  setTimeout(() => process.exit(), exitMilliseconds).unref()
}

/**
 * Waits for work, after the signal for {@link closeSeconds} at most.
 * @returns whether the work was done before the signal
 */
export async function untilStopped(work: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  const aborted = signal.aborted ? Promise.resolve() : once(signal, 'abort')
  await Promise.race([work, aborted.then(() => withinSeconds(closeSeconds, work))])
  return !signal.aborted
}

/** Waits with a timeout: a database that does not answer must not prevent the exit. Uncommitted work is rolled back. */
export async function withinSeconds(seconds: number, work: Promise<unknown>): Promise<void> {
  await Promise.race([work, wait(seconds * 1000, undefined, { ref: false })])
}
