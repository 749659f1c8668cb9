import type { Database } from '../../src/database/database.ts'

/**
 * Returns a database with a hook that runs once, before its next transaction: for example to restore an earlier state, as a
 * failover to a lagging replica does.
 */
export function withTransactionHook(database: Database) {
  let hook: (() => Promise<unknown>) | null = null
  const hooked: Database = {
    ...database,
    async transaction(work) {
      const due = hook
      hook = null
      await due?.()
      return database.transaction(work)
    },
  }
  return { database: hooked, beforeNext: (given: () => Promise<unknown>) => void (hook = given) }
}
