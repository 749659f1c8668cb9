import { DatabaseRefused } from '../errors.ts'

/** Runs SQL on the one connection that keeps the lock. */
export type RunOnSession = (sql: string) => Promise<unknown>

/** SQLSTATE of a lock that was not granted in time: lock_not_available. */
const lockNotAvailable = '55P03'

/**
 * Time limits of a session that a role or database may have for its short statements: a migration, and the wait for a lock,
 * may take longer. `transaction_timeout` exists from PostgreSQL 17 on.
 */
const timeouts = [
  'lock_timeout',
  'statement_timeout',
  'transaction_timeout',
  'idle_session_timeout',
  'idle_in_transaction_session_timeout',
]
const removeAll = `select set_config(name, '0', false) from pg_settings
  where name in (${timeouts.map((name) => `'${name}'`).join(', ')})`

/** An advisory lock of a session. */
export interface SessionLock {
  /** Any constant that no other user of this database takes. */
  readonly key: number
  /** Returns the message for a process that has waited too long. */
  readonly refusal: (waitSeconds: number, holder: Holder) => string
}

/** Held by the server's session that runs the migrations of a process, which may have been killed. */
export const migrationLock: SessionLock = {
  key: 7_261_190_412,
  refusal: (waitSeconds, { pid, described }) =>
    `A server session that applies migrations has not ended in ${waitSeconds} s: ${described}. ` +
    'The server runs the migrations of a process that was killed to their end. Start again when they are done; or, ' +
    `where they hang, end that session by SELECT pg_terminate_backend(${pid}), which rolls them back, and start again.`,
}

/** Held by a process that migrates the database, or fills it. */
export const startLock: SessionLock = {
  key: 7_261_190_411,
  refusal: (waitSeconds, { pid, described }) =>
    `Another process, which migrates this database or fills it, has not ended in ${waitSeconds} s: ${described}. ` +
    'Start again when it is done; or, where it hangs, end it, or its session by ' +
    `SELECT pg_terminate_backend(${pid}), and start again.`,
}

/**
 * Takes an advisory lock for the session of a connection, for whose holder it waits: a server runs the script of a
 * killed process to its end. The session has no time limits from now on.
 * @param waitSeconds maximum time to wait
 * @param onWait called with the holder where the lock is not granted at once
 * @throws {DatabaseRefused} when another session holds it longer; names that session, and the remedy
 */
export async function lockSession(
  run: RunOnSession,
  { key, refusal }: SessionLock,
  waitSeconds: number,
  onWait: (holder: string) => void = () => undefined,
): Promise<void> {
  await removeTimeouts(run)
  const { rows } = (await run(`select pg_try_advisory_lock(${key}) as "isTaken"`)) as Rows<{
    readonly isTaken: boolean
  }>
  if (rows[0]?.isTaken === true) return
  onWait((await holderOf(run, key)).described)
  await run(`set lock_timeout = '${waitSeconds}s'`)
  try {
    await run(`select pg_advisory_lock(${key})`)
  } catch (error) {
    if ((error as { code?: unknown }).code !== lockNotAvailable) throw error
    throw new DatabaseRefused(refusal(waitSeconds, await holderOf(run, key)), error)
  }
  await run('set lock_timeout = 0')
}

/** Removes the time limits of a session. */
async function removeTimeouts(run: RunOnSession): Promise<void> {
  await run(removeAll)
}

interface Rows<Row> {
  readonly rows: readonly Row[]
}

interface Holder {
  readonly pid: number | string
  readonly described: string
}

const noHolder: Holder = { pid: 'its process', described: 'it has ended just now' }

async function holderOf(run: RunOnSession, key: number): Promise<Holder> {
  const { rows } = (await run(
    `select pid, format('process %s of the server, %s since %s', pid, state,
        to_char(state_change at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')) ||
        coalesce(', for a client at ' || host(client_addr), '') as described
      from pg_locks join pg_stat_activity using (pid)
      where locktype = 'advisory' and granted and (classid::bigint << 32) + objid::bigint = ${key}
        and pg_locks.database = (select oid from pg_database where datname = current_database())`,
  )) as Rows<Holder>
  return rows[0] ?? noHolder
}
