import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import type { ChangeListener, StopListening } from '../commits/change-listener.ts'
import { type LogConnection, pollCommits } from '../commits/poll-commits.ts'
import { commitChannel } from '../commits/commit-reader.ts'
import { ListenWarnings } from './listen-warnings.ts'
import type { Warn } from './read-pools.ts'
import { readAddress } from './server-address.ts'

/** Timeout of a poll. Cached responses are not used while the server does not answer. */
const answerMilliseconds = 1_000
const connectMilliseconds = 2_000

/**
 * Listens for commits on a separate connection, so that polls and reads do not wait for each other.
 * @param warn called where the server does not accept the connection or a poll for a while
 * @param onStandby called in place of `upToDate` where the server is a standby; none where the listener knows what its polls prove
 * @see PostgreSQL documentation, LISTEN
 */
export function listenOnPostgreSql(
  url: string,
  listener: ChangeListener,
  warn: Warn,
  onStandby?: () => void,
): StopListening {
  const outcome = new ListenWarnings(url, warn)
  return pollCommits({ connect: (wake) => connect(url, wake), answerMilliseconds, outcome, onStandby }, listener)
}

/**
 * Listens for commits on the server of DATABASE_URL. Where that is a standby, it may lack commits of its primary: so its polls
 * do not prove that the listener is up to date.
 * @param warn also called once where it is a standby
 */
export function listenOnPrimary(url: string, listener: ChangeListener, warn: Warn): StopListening {
  let isWarned = false
  return listenOnPostgreSql(url, listener, warn, () => {
    if (isWarned) return
    isWarned = true
    warn(
      `PostgreSQL at ${readAddress(url).name} is a standby: the age of its data is unknown, and not sent to clients. ` +
        'DATABASE_URL has to lead to its primary, and READ_URLS to it',
    )
  })
}

async function connect(url: string, wake: () => void): Promise<LogConnection> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: connectMilliseconds,
    query_timeout: connectMilliseconds,
  })
  // A broken connection fails the next poll, which starts immediately.
  client.on('error', wake).on('end', wake).on('notification', wake)
  const close = async (): Promise<void> => {
    await Promise.race([client.end().catch(() => undefined), wait(answerMilliseconds)])
    client.connection.stream.destroy()
  }
  try {
    await client.connect()
    await listenOn(client)
  } catch (error) {
    await close()
    throw error
  }
  return {
    close,
    read: async ({ name, text }, values) => (await client.query({ name, text, values: [...values] })).rows as unknown[],
  }
}

/** Subscribes to notifications. A standby rejects LISTEN, and is only polled. */
async function listenOn(client: pg.Client): Promise<void> {
  try {
    await client.query(`listen ${commitChannel}`)
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
  }
}
