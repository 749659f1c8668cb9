import type { Cancellation } from '../cancellation.ts'
import type { Database, Statement } from '../database.ts'

/**
 * A column that tells the version of the data in the very snapshot that a statement reads: the number and the mark of the
 * newest batch of facts that the snapshot sees, and an empty text before the first. A scalar subquery that depends on no
 * row is evaluated once. Every statement of hot reads has it.
 */
export const dataVersion = `coalesce((select version from data_head), '') as "dataVersion"`

const versionAt: Statement = { name: 'version_at', text: 'select version from commit_log where seq = $1::bigint' }

/** The version of the commit with a number; null where the log has none, or no more. */
export async function readVersionAt(
  database: Pick<Database, 'query'>,
  seq: number,
  signal?: Cancellation,
): Promise<string | null> {
  const [row] = await database.query<{ version: string }>(versionAt, [seq], signal)
  return row?.version ?? null
}
