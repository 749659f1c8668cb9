import type { Database, Statement } from '../database.ts'

const feeds: Statement = {
  name: 'feeds',
  text: 'select name, line::float8 as lines, byte::float8 as bytes from feed order by name collate "C"',
}

/** The greatest of nothing is null, and of something and nothing the something. */
const newestFact: Statement = {
  name: 'newest_fact',
  text: `select greatest((select max(updated_at) from vault), (select max(published_at) from strategy),
      (select max(ts) from screen))::float8 as ts`,
}

/** How far a feed has been applied. */
export interface FeedRow {
  readonly name: string
  readonly lines: number
  /** Unpacked. */
  readonly bytes: number
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
