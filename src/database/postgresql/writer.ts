import type { Database } from '../database.ts'
import { classifyServerError } from '../driver-errors.ts'
import { poolsOf } from './read-pools.ts'
import { readAddress } from './server-address.ts'
import { pooledTransactions } from './transactions.ts'

/** Timeouts in milliseconds: of a connection, and of a write's response, which may wait for another writer's transaction. */
export const writeTimeouts = { connectionTimeoutMillis: 30_000, query_timeout: 60_000 }

/**
 * Opens one connection for transactions, without the other parts of a database, which is migrated already. It connects with
 * the first transaction.
 * @param url postgres://user:password@host:port/database
 */
export function openPostgreSqlWriter(url: string): Pick<Database, 'transaction' | 'close'> {
  const pool = poolsOf(url, 1, () => undefined)({ ...writeTimeouts, max: 1, pipeline: true })
  return {
    ...pooledTransactions(pool, classifyServerError(readAddress(url).name)),
    close: () => pool.end(),
  }
}
