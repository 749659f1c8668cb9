import type { Cancellation } from '../cancellation.ts'
import type { Database, Statement } from '../database.ts'

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
