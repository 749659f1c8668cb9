import type { Read, Reader } from '../database.ts'
import { dataVersion } from './commit-log.ts'

/** How far a feed has been applied, and how far its source has been read. */
export interface FeedState {
  readonly name: string
  readonly line: number
  /** Time of the newest fact from it, in Unix seconds. */
  readonly newestFactAt: number | null
  /** Time up to which its source is known to contain no further facts, in Unix seconds. */
  readonly readUntil: number | null
  /** The newest block that was read, for a feed that reads a chain. */
  readonly block: { readonly number: number; readonly hash: string; readonly timestamp: number } | null
}

interface FeedRow extends Omit<FeedState, 'block' | 'name'> {
  /** Null in the single row of an empty table. */
  readonly name: string | null
  readonly number: number | null
  readonly hash: string | null
  readonly timestamp: number | null
}

const states: Read = {
  name: 'feed_states',
  dependsOn: 'feeds',
  batching: { kind: 'deduplicated' },
  text: `select name, line::float8 as line, newest_fact_at::float8 as "newestFactAt", nullif(read_until, 0)::float8 as "readUntil",
      block_number::float8 as number, block_hash as hash, block_timestamp::float8 as timestamp, "dataVersion"
    from (select ${dataVersion}) as head left join feed on true order by name collate "C"`,
}

/** Reads the states of all feeds with facts, ordered by name. */
export async function readFeedStates(reader: Reader): Promise<FeedState[]> {
  const rows = await reader.query<FeedRow>(states, [])
  return rows.flatMap(({ name, line, newestFactAt, readUntil, number, hash, timestamp }) => {
    const block = number === null || hash === null || timestamp === null ? null : { number, hash, timestamp }
    return name === null ? [] : [{ name, line, newestFactAt, readUntil, block }]
  })
}
