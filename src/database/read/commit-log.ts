import type { Cancellation } from '../cancellation.ts'
import type { Database, Statement } from '../database.ts'

/**
 * SQL column with the version of the data in the statement's own snapshot: number and nonce of the newest batch
 * of facts, empty before the first. Every read for responses selects it. A scalar subquery that references no row is
 * evaluated once.
 * @see PostgreSQL documentation, "Scalar Subqueries" and "Transaction Isolation"
 */
export const dataVersion = `coalesce((select version from data_head), '') as "dataVersion"`

const versionAt: Statement = { name: 'version_at', text: 'select version from commit_log where seq = $1::bigint' }

/**
 * Reads the version of a commit.
 * @param seq number of the commit
 * @returns null where the log does not contain it, because it is newer or was pruned
 */
export async function readVersionAt(
  database: Pick<Database, 'query'>,
  seq: number,
  signal?: Cancellation,
): Promise<string | null> {
  const [row] = await database.query<{ version: string }>(versionAt, [seq], signal)
  return row?.version ?? null
}
