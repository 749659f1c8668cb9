import { randomBytes } from 'node:crypto'
import type { CacheTag } from '../commits/change-listener.ts'
import { commitChannel } from '../commits/commit-reader.ts'
import type { Statement, Transaction } from '../database.ts'

/** How long rows are kept: a client that was away for longer is told that the history has changed. */
const keptDays = 7
/** Old rows are deleted by one commit in so many, at most four times as many at once. */
const pruneEvery = 512

/**
 * One statement, since it holds the lock that orders all writers. The row that was waited for is read anew, so that the
 * number and the newest time follow on the commit before; a subquery would see the table as it was before the wait.
 * NOTIFY wakes listeners up, and tells nothing.
 */
const append: Statement = {
  name: 'append_commit',
  hasOnePlan: true,
  text: `with head as (
      insert into data_head (seq, version, newest_ts) values (1, '1.' || $1::text, $2::bigint)
      on conflict (id) do update set seq = data_head.seq + 1, version = (data_head.seq + 1) || '.' || $1::text,
        newest_ts = greatest(data_head.newest_ts, excluded.newest_ts)
      returning seq, version, newest_ts
    ), appended as (
      insert into commit_log (seq, version, at, newest_ts, sources)
      select seq, version, extract(epoch from clock_timestamp())::bigint, newest_ts, $3::text[] from head
    ), pruned as (
      delete from commit_log where seq in (
        select seq from commit_log
        where (select seq % ${pruneEvery} = 0 from head)
          and at < extract(epoch from clock_timestamp())::bigint - ${keptDays * 86_400}
        order by at limit ${4 * pruneEvery})
    )
    select pg_notify('${commitChannel}', '')::text from head`,
}

/**
 * Appends a commit to the log. It is the last statement of its transaction: until that ends, all other writers wait.
 * @param newestTs time of the newest fact that it applies, in Unix seconds; null where that isn't known
 * @param tags of what it changes
 */
export function appendCommit(transaction: Transaction, newestTs: number | null, tags: readonly CacheTag[]): void {
  transaction.send(append, [randomMark(), newestTs, tags])
}

/** 63 random bits: no two commits of one number have the same in histories that have parted. */
function randomMark(): string {
  return (randomBytes(8).readBigUInt64BE() >> 1n).toString()
}
