import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { type InstalledServer, missing, startInstalled } from './installed-server.ts'

const program = '/usr/sbin/pgbouncer'

/** Reason to skip tests that need PgBouncer; null if it is installed, and in CI. */
export const noPgBouncer = missing(program, 'pgbouncer')

/** A running PgBouncer in front of a PostgreSQL server. */
export interface PgBouncer extends InstalledServer {
  /** Address of the database by way of PgBouncer. */
  readonly url: string
}

/**
 * Starts PgBouncer with its default settings, except for these.
 * @param server address of a database
 * @param connections maximum number of client connections
 * @param sessions maximum number of server connections
 * @param mode its `pool_mode`: whether a server connection is released after a session or after a transaction
 */
export async function startPgBouncer(
  server: string,
  connections: number,
  sessions = 20,
  mode: 'session' | 'transaction' = 'session',
): Promise<PgBouncer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'pgbouncer-'))
  const [{ hostname, port, username, password, pathname }, ownPort] = [new URL(server), await freePort()]
  const target = { host: hostname, port: port || '5432', user: username, ...(password && { password }) }
  const database = Object.entries(target).map(([key, value]) => `${key}=${decodeURIComponent(value)}`)
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: ownPort,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
    max_client_conn: connections,
    default_pool_size: sessions,
  }
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${value}`)
  const file = path.join(folder, 'pgbouncer.ini')
  await writeFile(file, ['[databases]', `* = ${database.join(' ')}`, '[pgbouncer]', ...lines, ''].join('\n'))
  // PgBouncer refuses to run as root; it reads its configuration before it switches to another user.
  const user = process.getuid?.() === 0 ? ['--user', 'nobody'] : []
  const url = `postgres://${username}@127.0.0.1:${ownPort}${pathname}`
  return { url, ...(await startInstalled(program, [...user, file], folder, () => connect(url))) }
}

async function connect(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  await client.end()
}
