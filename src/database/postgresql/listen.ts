import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import type { ChangeListener, CommitReports } from '../commits/change-listener.ts'
import { type LogConnection, pollCommits } from '../commits/poll-commits.ts'
import { commitChannel } from '../commits/commit-reader.ts'
import { ListenWarnings } from './listen-warnings.ts'
import { type MakePool, openListenPool, type Warn } from './read-pools.ts'
import type { RetryingPool } from './retrying-pool.ts'
import { readAddress } from './server-address.ts'

/** Timeout of a poll. Cached responses are not used while the server does not answer. */
const answerMilliseconds = 1_000
const connectMilliseconds = 2_000

/** Options of {@link listenOnPostgreSql}. */
export interface ListenOptions {
  /** Address of the server, for warnings. */
  readonly url: string
  readonly pool: MakePool
  /** Pools for reads, of which one closes a connection where the server gives the listener none. */
  readonly lenders: readonly RetryingPool[]
  /** Called where the server does not accept the connection or a poll for a while. */
  readonly warn: Warn
  /** Called in place of `upToDate` where the server is a standby; none where the listener knows what its polls prove. */
  readonly onStandby?: () => void
}

/**
 * Listens for commits on a separate connection, so that polls and reads do not wait for each other.
 * @see PostgreSQL documentation, LISTEN
 */
export function listenOnPostgreSql(options: ListenOptions, listener: ChangeListener): CommitReports {
  const { url, warn, onStandby } = options
  const pool = openListenPool(options.pool, options.lenders, connectMilliseconds)
  const outcome = new ListenWarnings(url, warn)
  const polling = { connect: (wake: () => void) => connect(pool, wake), answerMilliseconds, outcome, onStandby }
  const { pollSoon, stop } = pollCommits(polling, listener)
  let ended: Promise<void> | undefined
  return { pollSoon, stop: () => (ended ??= stop().then(() => pool.end())) }
}

/**
 * Listens for commits on the server of DATABASE_URL. Where that is a standby, it may lack commits of its primary: so its polls
 * do not prove that the listener is up to date, and a warning says so once.
 */
export function listenOnPrimary(options: Omit<ListenOptions, 'onStandby'>, listener: ChangeListener): CommitReports {
  const { url, warn } = options
  let isWarned = false
  const onStandby = (): void => {
    if (isWarned) return
    isWarned = true
    warn(
      `PostgreSQL at ${readAddress(url).name} is a standby: the age of its data is unknown, and not sent to clients. ` +
        'DATABASE_URL has to lead to its primary, and READ_URLS to it',
    )
  }
  return listenOnPostgreSql({ ...options, onStandby }, listener)
}

async function connect(pool: RetryingPool, wake: () => void): Promise<LogConnection> {
  const client = await pool.connect()
  const ended = new Promise<void>((resolve) => client.once('end', resolve))
  let broken: Error | null = null
  // A broken connection fails the next poll, which starts immediately: the driver then states no reason.
  client.on('error', (error) => {
    broken ??= error
    wake()
  })
  client.on('end', wake).on('notification', wake)
  const close = async (): Promise<void> => {
    client.release(true)
    await Promise.race([ended, wait(answerMilliseconds)])
    client.connection.stream.destroy()
  }
  try {
    await listenOn(client)
  } catch (error) {
    await close()
    throw error
  }
  return {
    close,
    async read({ name, text }, values) {
      try {
        return (await client.query({ name, text, values: [...values] })).rows as unknown[]
      } catch (error) {
        throw broken ?? error
      }
    },
  }
}

/** Subscribes to notifications. A standby rejects LISTEN, and is only polled. */
async function listenOn(client: pg.PoolClient): Promise<void> {
  try {
    await client.query(`listen ${commitChannel}`)
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
  }
}
