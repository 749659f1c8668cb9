import type { Reader } from './database.ts'

/** Is told of each statement when it has ended, and whether it gave its rows. */
export type OnStatement = (name: string, seconds: number, isDone: boolean) => void

/** A reader whose statements are told of, with the time that each took, its wait for a connection included. */
export function observed(reader: Reader, onStatement: OnStatement): Reader {
  return {
    async query(statement, values, signal) {
      const started = performance.now()
      let isDone = false
      try {
        const rows = await reader.query<never>(statement, values, signal)
        isDone = true
        return rows
      } finally {
        onStatement(statement.name, (performance.now() - started) / 1000, isDone)
      }
    },
  }
}
