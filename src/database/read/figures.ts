import type { Database, Statement } from '../database.ts'

const feeds: Statement = {
  name: 'feeds',
  text: `select name, line::float8 as lines, byte::float8 as bytes, newest_fact_at::float8 as "newestFactAt",
      read_until::float8 as "readUntil"
    from feed order by name collate "C"`,
}

/** The greatest of nothing is null, and of something and nothing the something. */
const newestFact: Statement = {
  name: 'newest_fact',
  text: `select greatest((select max(updated_at) from vault), (select max(published_at) from strategy),
      (select max(ts) from screen))::float8 as ts`,
}

const commitSeq: Statement = { name: 'commit_seq', text: 'select seq::float8 as seq from data_head' }

/** How far a feed has been applied. */
export interface FeedRow {
  readonly name: string
  readonly lines: number
  /** Unpacked. */
  readonly bytes: number
  /** Time of the newest fact that it brought, in Unix seconds. */
  readonly newestFactAt: number | null
  /** Up to when its source is known to hold no more than was applied, in Unix seconds. */
  readonly readUntil: number | null
}

/** All feeds that facts have come from, by name. */
export function readFeeds(database: Pick<Database, 'query'>, signal: AbortSignal): Promise<FeedRow[]> {
  return database.query(feeds, [], signal)
}

/** Time of the newest fact of any kind, in Unix seconds; null before the first. */
export async function readNewestFactAt(database: Pick<Database, 'query'>, signal: AbortSignal): Promise<number | null> {
  const [newest] = await database.query<{ ts: number | null }>(newestFact, [], signal)
  return newest?.ts ?? null
}

/** Number of the newest commit; null before the first. */
export async function readCommitSeq(database: Pick<Database, 'query'>, signal: AbortSignal): Promise<number | null> {
  const [head] = await database.query<{ seq: number }>(commitSeq, [], signal)
  return head?.seq ?? null
}
