import type { Database, Statement } from '../database.ts'
import { isChainPosition } from './expressions.ts'

const feeds: Statement = {
  name: 'feeds',
  text: `select name, line::float8 as lines, case when ${isChainPosition} then null else byte::float8 end as bytes,
      case when ${isChainPosition} then greatest(byte, block_number)::float8 end as block, newest_fact_at::float8 as "newestFactAt",
      nullif(read_until, 0)::float8 as "readUntil"
    from feed order by name collate "C"`,
}

/**
 * `greatest` ignores nulls, so tables without rows do not matter.
 * @see PostgreSQL documentation, "Conditional Expressions", section GREATEST and LEAST
 */
const newestFact: Statement = {
  name: 'newest_fact',
  text: `select greatest((select max(updated_at) from vault), (select max(published_at) from strategy),
      (select max(ts) from screen))::float8 as ts`,
}

const commitSeq: Statement = { name: 'commit_seq', text: 'select seq::float8 as seq from data_head' }

/** How far a feed has been applied and read, for metrics. */
export interface FeedRow {
  readonly name: string
  readonly lines: number
  /** Position in the decompressed feed; null for a chain. */
  readonly bytes: number | null
  /** Newest block that was read and applied; null for any other feed. */
  readonly block: number | null
  /** Time of the newest fact from it, in Unix seconds. */
  readonly newestFactAt: number | null
  /** Time up to which its source is known to contain no further facts, in Unix seconds. */
  readonly readUntil: number | null
}

/** Reads the states of all feeds with facts, ordered by name. */
export function readFeeds(database: Pick<Database, 'query'>, signal: AbortSignal): Promise<FeedRow[]> {
  return database.query(feeds, [], signal)
}

/**
 * Reads the time of the newest fact of any kind.
 * @returns Unix seconds; null before the first fact
 */
export async function readNewestFactAt(database: Pick<Database, 'query'>, signal: AbortSignal): Promise<number | null> {
  const [newest] = await database.query<{ ts: number | null }>(newestFact, [], signal)
  return newest?.ts ?? null
}

/**
 * Reads the sequence number of the newest commit.
 * @returns null before the first commit
 */
export async function readCommitSeq(database: Pick<Database, 'query'>, signal: AbortSignal): Promise<number | null> {
  const [head] = await database.query<{ seq: number }>(commitSeq, [], signal)
  return head?.seq ?? null
}
