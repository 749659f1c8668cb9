import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { type InstalledServer, missing, startInstalled } from './installed-server.ts'

const program = '/usr/sbin/pgbouncer'

/** Why PgBouncer can't be started here; null where it can. */
export const noPgBouncer = missing(program, 'pgbouncer')

/** A PgBouncer in front of a server. */
export interface PgBouncer extends InstalledServer {
  /** Address of a database of the server, by way of it. */
  readonly url: string
}

/**
 * Starts PgBouncer with its defaults.
 * @param server address of a database
 * @param connections of clients that it accepts at once
 * @param sessions of the server that it has for them
 * @param mode when a session is given to another connection
 */
export async function startPgBouncer(
  server: string,
  connections: number,
  sessions = 20,
  mode: 'session' | 'transaction' = 'session',
): Promise<PgBouncer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'pgbouncer-'))
  const [{ hostname, port, username, password, pathname }, ownPort] = [new URL(server), await freePort()]
  const to = { host: hostname, port: port || '5432', user: username, ...(password && { password }) }
  const database = Object.entries(to).map(([key, value]) => `${key}=${decodeURIComponent(value)}`)
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
  // It refuses to run as root, and reads its configuration before it becomes another user.
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
