import type { Snapshots, VersionedReader } from './database.ts'

/** Called when a statement has ended, with its duration in seconds and whether it succeeded. */
export type OnStatement = (name: string, seconds: number, isDone: boolean) => void

/**
 * Reports each statement of reads and snapshots to an observer.
 * @param onStatement receives durations that include the wait for a connection
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
