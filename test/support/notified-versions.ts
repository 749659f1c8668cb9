import type { Database } from '../../src/database/database.ts'
import type { DataVersions } from '../../src/http/cache/data-versions.ts'
import { readingBy } from './database.ts'

/** Returns a database whose reads have the version that was notified last, if any, so that a test can invent versions. */
export function withNotifiedVersions<Given extends Database>(database: Given, versions: () => DataVersions): Given {
  return readingBy(database, async (statement, values, signal, reader) => {
    const { rows, version } = await reader.read(statement, values, signal)
    return { rows, version: versions().currentState().version ?? version }
  })
}
