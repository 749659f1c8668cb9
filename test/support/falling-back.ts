import type { Database } from '../../src/database/database.ts'

/** A database that resets to an earlier state on demand, before its next transaction. */
export function fallingBack(database: Database) {
  let fall: (() => Promise<unknown>) | null = null
  const falling: Database = {
    ...database,
    async transaction(work) {
      const due = fall
      fall = null
      await due?.()
      return database.transaction(work)
    },
  }
  return { database: falling, beforeNext: (given: () => Promise<unknown>) => void (fall = given) }
}
