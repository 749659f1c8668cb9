import type { Statement, Transaction } from '../../database.ts'

/** Seconds that a lock is waited for: batches of other writers take less. */
const mostSeconds = 5

const setLockTimeout: Statement = {
  name: 'set_lock_timeout',
  text: `set local lock_timeout = '${mostSeconds}s'`,
}

/**
 * Limits how long a transaction waits for each lock: one that waits for something outside of the database holds its own
 * locks meanwhile, and the server does not see a deadlock with it.
 */
export function limitLockWait(transaction: Transaction): void {
  transaction.send(setLockTimeout, [])
}
