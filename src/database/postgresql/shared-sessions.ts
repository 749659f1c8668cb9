import pg from 'pg'

/** Two connections may by chance get different sessions, where others use the pooler too. */
const tries = 3
/** A pooler that has no session left makes a connection wait. */
const milliseconds = 1_000

const sharedSessions =
  'connections share sessions of the server, as by pool_mode = transaction of PgBouncer, of which only pool_mode = session works'

/**
 * Checks that each connection has a session of its own; see {@link sharesSessions}.
 * @throws where they share sessions
 */
export async function requireOwnSessions(first: pg.ClientBase, url: string): Promise<void> {
  if (await sharesSessions(first, url)) throw new Error(sharedSessions)
}

/**
 * Returns whether a pooler gives one session of the server to several connections in turn, as PgBouncer does by `pool_mode =
 * transaction`: settings, prepared statements and locks of one are then lost, or those of another one.
 * @param first a connection, which is open meanwhile
 * @param url address of its server
 */
async function sharesSessions(first: pg.ClientBase, url: string): Promise<boolean> {
  const { processID } = first as unknown as { readonly processID: number | null }
  // Without a pooler, a server has told each connection the id of its process.
  if ((await sessionOf(first)) === processID) return false
  const second = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: milliseconds,
    query_timeout: milliseconds,
  })
  second.on('error', () => undefined)
  try {
    await second.connect()
    for (let each = 0; each < tries; each++) if ((await sessionOf(first)) === (await sessionOf(second))) return true
    return false
  } catch {
    // Each connection has a session of its own where they can run out.
    return false
  } finally {
    ;(second as unknown as Pick<pg.Client, 'connection'>).connection.stream.destroy()
  }
}

async function sessionOf(client: pg.ClientBase): Promise<number | undefined> {
  return (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
}
