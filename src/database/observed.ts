import type { Snapshots, VersionedReader } from './database.ts'

/** Is told of each statement when it has ended, and whether it gave its rows. */
export type OnStatement = (name: string, seconds: number, isDone: boolean) => void

/**
 * Reads whose statements are told of, those of snapshots too, with the time that each took, its wait for a connection
 * included.
 */
export function observed(database: VersionedReader & Snapshots, onStatement: OnStatement): VersionedReader & Snapshots {
  return {
    ...observedReader(database, onStatement),
    snapshot: (work, signal, isUnbounded) =>
      database.snapshot((reader) => work(observedReader(reader, onStatement)), signal, isUnbounded),
  }
}

function observedReader(reader: VersionedReader, onStatement: OnStatement): VersionedReader {
  return {
    async read(statement, values, signal) {
      const started = performance.now()
      let isDone = false
      try {
        const found = await reader.read<never>(statement, values, signal)
        isDone = true
        return found
      } finally {
        onStatement(statement.name, (performance.now() - started) / 1000, isDone)
      }
    },
  }
}
