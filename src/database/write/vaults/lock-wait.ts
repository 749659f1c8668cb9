import type { Statement, Transaction } from '../../database.ts'

/** Maximum wait for a lock in seconds: batches of other writers take less. */
const maxSeconds = 5

const setLockTimeout: Statement = {
  name: 'set_lock_timeout',
  text: `set local lock_timeout = '${maxSeconds}s'`,
}

/**
 * Limits how long a transaction waits for each lock: the server cannot detect a deadlock with a transaction that holds
 * locks while it waits for something outside of the database.
 */
export function limitLockWait(transaction: Transaction): void {
  transaction.send(setLockTimeout, [])
}
