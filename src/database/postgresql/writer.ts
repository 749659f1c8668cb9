import type { Database } from '../database.ts'
import { classifyServerError } from '../driver-errors.ts'
import { RetryingPool } from './retrying-pool.ts'
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
  const options = { ...writeTimeouts, connectionString: url, keepAlive: true, pipeline: true }
  const pool = new RetryingPool({ ...options, max: 1, onFull: () => undefined, lenders: [] })
  // Without error listeners a broken connection would end the process. Its query fails, and the pool connects again.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  pool.on('error', () => undefined)
  return {
    ...pooledTransactions(pool, classifyServerError(readAddress(url).name)),
    close: () => pool.end(),
  }
}
