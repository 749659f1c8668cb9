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
  'statement_timeout',
  'transaction_timeout',
  'idle_session_timeout',
  'idle_in_transaction_session_timeout',
]
const removeAll = `select set_config(name, '0', false) from pg_settings
  where name in (${timeouts.map((name) => `'${name}'`).join(', ')})`

/**
 * Takes an advisory lock for the session of a connection, for whose holder it waits: a server runs the script of a
 * killed process to its end. The session has no time limits from now on.
 * @param key key of the lock
 * @param waitSeconds maximum time to wait
 * @throws {DatabaseRefused} when another session holds it longer; names that session, and the remedy
 */
export async function lockSession(run: RunOnSession, key: number, waitSeconds: number): Promise<void> {
  await removeTimeouts(run)
  await run(`set lock_timeout = '${waitSeconds}s'`)
  try {
    await run(`select pg_advisory_lock(${key})`)
  } catch (error) {
    if ((error as { code?: unknown }).code !== lockNotAvailable) throw error
    const holder = await holderOf(run, key)
    throw new DatabaseRefused(
      `A server session that applies migrations has not ended in ${waitSeconds} s: ${holder?.described ?? 'it has ended just now'}. ` +
        'The server runs the migrations of a process that was killed to their end. Start again when they are done; or, ' +
        `where they hang, end that session by SELECT pg_terminate_backend(${holder?.pid ?? 'its process'}), which rolls them ` +
        'back, and start again.',
      error,
    )
  }
  await run('reset lock_timeout')
}

/** Removes the time limits of a session. */
export async function removeTimeouts(run: RunOnSession): Promise<void> {
  await run(removeAll)
}

interface Holder {
  readonly pid: number
  readonly described: string
}

async function holderOf(run: RunOnSession, key: number): Promise<Holder | undefined> {
  const { rows } = (await run(
    `select pid, format('process %s of the server, %s since %s', pid, state,
        to_char(state_change at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')) as described
      from pg_locks join pg_stat_activity using (pid)
      where locktype = 'advisory' and granted and (classid::bigint << 32) + objid::bigint = ${key}
        and pg_locks.database = (select oid from pg_database where datname = current_database())`,
  )) as { readonly rows: readonly Holder[] }
  return rows[0]
}
