import type { Database } from '../database.ts'
import { classifyServerError } from '../driver-errors.ts'
import { poolsOf } from './read-pools.ts'
import type { RetryingPoolOptions } from './retrying-pool.ts'
import { readAddress } from './server-address.ts'
import { configuresSessions } from './session-settings.ts'
import { pooledTransactions } from './transactions.ts'

/** Timeout for getting a connection for a write. */
const connectMilliseconds = 30_000
/** Timeout of a write's response, which may wait for another writer's transaction. */
const responseMilliseconds = 60_000
/**
 * Limit for a transaction that is idle, whose process may have vanished: the one that holds the position of a feed is idle
 * while several writers apply a round, which takes seconds.
 */
const idleTimeoutMilliseconds = 300_000
/** How often a server looks whether the client of a statement that runs, or waits for a lock, has closed its connection. */
const checkIntervalMilliseconds = 2_000

/**
 * Returns the options of a pool for writes and rare queries. A server does not notice by itself that a client has given a
 * statement up, and closed its connection: the statement would keep its locks, and go on once it gets those that it waits for.
 * So the server ends it before the client does, and looks for closed connections.
 * @param milliseconds timeout of a response
 */
export function writeOptions(
  milliseconds = responseMilliseconds,
): Pick<RetryingPoolOptions, 'connectionTimeoutMillis' | 'query_timeout' | 'onConnect'> {
  const settings = {
    statement_timeout: Math.floor(0.9 * milliseconds),
    idle_in_transaction_session_timeout: idleTimeoutMilliseconds,
  }
  return {
    connectionTimeoutMillis: connectMilliseconds,
    query_timeout: milliseconds,
    // Servers on some systems refuse it.
    onConnect: configuresSessions(connectMilliseconds, settings, {
      client_connection_check_interval: checkIntervalMilliseconds,
    }),
  }
}

/**
 * Opens one connection for transactions, without the other parts of a database, which is migrated already. It connects with
 * the first transaction.
 * @param url postgres://user:password@host:port/database
 */
export function openPostgreSqlWriter(url: string): Pick<Database, 'transaction' | 'close'> {
  const pool = poolsOf(url, 1, () => undefined)({ ...writeOptions(), max: 1, pipeline: true })
  return {
    ...pooledTransactions(pool, classifyServerError(readAddress(url).name)),
    close: () => pool.end(),
  }
}
