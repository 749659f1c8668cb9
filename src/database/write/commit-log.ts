import { randomBytes } from 'node:crypto'
import { seqOf } from '../../domain/identity/data-version.ts'
import type { CacheTag } from '../commits/change-listener.ts'
import { commitChannel } from '../commits/commit-reader.ts'
import type { Statement, Transaction } from '../database.ts'

/** Retention of the log: a listener that was disconnected for longer starts from scratch. */
const keptDays = 7
/** One commit in this many deletes old rows, at most four times this many. */
const pruneEvery = 512

/**
 * Appends in one statement, because it holds the lock that serialises all writers. ON CONFLICT re-reads the locked row
 * after the wait, so that number and newest time follow the previous commit; a subquery would see the snapshot from
 * before the wait.
 * @see PostgreSQL documentation, INSERT, "ON CONFLICT Clause"; NOTIFY
 */
const append: Statement = {
  name: 'append_commit',
  prepare: 'once',
  text: `with head as (
      insert into data_head (seq, version, newest_ts) values (1, '1.' || $1::text, $2::bigint)
      on conflict (id) do update set seq = data_head.seq + 1, version = (data_head.seq + 1) || '.' || $1::text,
        newest_ts = greatest(data_head.newest_ts, excluded.newest_ts)
      returning seq, version, newest_ts
    ), appended as (
      insert into commit_log (seq, version, at, newest_ts, sources, ledger_rows)
      select seq, version, extract(epoch from clock_timestamp())::bigint, newest_ts, $3::text[], $4::integer from head
    ), pruned as (
      delete from commit_log where seq in (
        select seq from commit_log
        where (select seq % ${pruneEvery} = 0 from head)
          and at < extract(epoch from clock_timestamp())::bigint - ${keptDays * 86_400}
        order by at limit ${4 * pruneEvery})
    )
    select version, pg_notify('${commitChannel}', '')::text from head`,
}

/** A batch of facts as the log records it. */
export interface LoggedBatch {
  /** A nonce of {@link commitNonce}. */
  readonly nonce: string
  /** Time of the newest fact in the batch, in Unix seconds; null where it is not known. */
  readonly newestTs: number | null
  /** Cache tags of everything that the batch changes, stored in the column `sources`. */
  readonly tags: readonly CacheTag[]
  /** Number of ledger rows that the batch writes. */
  readonly ledgerRows: number
}

/**
 * Appends a commit to the log. All other writers wait until its transaction ends: only statements that need this lock may
 * follow.
 * @returns the version of the commit. The caller need not wait for it: where it rejects, the transaction does, too
 */
export function appendCommit(
  transaction: Transaction,
  { nonce, newestTs, tags, ledgerRows }: LoggedBatch,
): Promise<string> {
  const appended = transaction.query<Pick<LogHead, 'version'>>(append, [nonce, newestTs, tags, ledgerRows])
  const version = appended.then(([head]) => (head as Pick<LogHead, 'version'>).version)
  // Where nobody waits for it, its rejection would end the process.
  version.catch(() => undefined)
  return version
}

/** Returns 63 random bits, which distinguish commits of the same number in diverged histories. */
export function commitNonce(): string {
  return (randomBytes(8).readBigUInt64BE() >> 1n).toString()
}

/** The newest commit. */
export interface LogHead {
  readonly seq: number
  readonly version: string
}

const readHead: Statement = {
  name: 'read_head',
  text: 'select seq::float8 as seq, version from data_head',
  prepare: 'once',
}

/** Reads the newest commit; null before the first. */
export async function readLogHead(transaction: Transaction): Promise<LogHead | null> {
  const [head = null] = await transaction.query<LogHead>(readHead, [])
  return head
}

/** A commit of the log that is older than this is replaced by {@link findCommit}, long before it is pruned. */
const replacedDays = 1

const commitOrNewer: Statement = {
  name: 'commit_or_newer',
  text: `select case when at < extract(epoch from clock_timestamp())::bigint - ${replacedDays * 86_400}
        then (select version from data_head) else version end as version
      from commit_log where seq = $1::bigint and version = $2::text
    union select version from data_head where version = $2::text`,
  prepare: 'once',
}

/**
 * Finds a commit in the history of the database, which then contains all earlier ones, too: a failover loses the newest commits.
 * @returns its version, or that of the newest commit where it would be pruned from the log in a few days; null where the
 *   commit is lost. One that was pruned counts as lost
 */
export async function findCommit(transaction: Transaction, version: string): Promise<string | null> {
  const [found] = await transaction.query<Pick<LogHead, 'version'>>(commitOrNewer, [seqOf(version), version])
  return found?.version ?? null
}

const noncesAmong: Statement = {
  name: 'nonces_among',
  text: `select seq::float8 as seq, version from commit_log
    where seq > $1::bigint and split_part(version, '.', 2) = any($2::text[]) order by seq`,
}

/**
 * Returns the commits with these nonces, in their order.
 * @param seq sequence number of a commit that is older than all of them
 */
export function commitsOf(transaction: Transaction, seq: number, nonces: readonly string[]): Promise<LogHead[]> {
  return transaction.query(noncesAmong, [seq, nonces])
}
