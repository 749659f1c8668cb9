import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from './free-port.ts'

const program = '/usr/sbin/pgbouncer'

/** Why PgBouncer can't be started here; null where it can, or where the machine's tests must have it. */
export const noPgBouncer: string | null =
  isExecutable(program) || process.env['CI'] === 'true' ? null : `there is no ${program}: apt-get install pgbouncer`

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A PgBouncer with session pooling in front of a server. */
export interface PgBouncer {
  /** Address of a database of the server, by way of it. */
  readonly url: string
  /** Ends it, and takes its folder away. */
  remove(): Promise<void>
}

/**
 * Starts PgBouncer with its defaults.
 * @param server address of a database
 * @param connections of clients that it accepts at once
 */
export async function startPgBouncer(server: string, connections: number): Promise<PgBouncer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'pgbouncer-'))
  const [{ hostname, port, username, password, pathname }, ownPort] = [new URL(server), await freePort()]
  const to = { host: hostname, port: port || '5432', user: username, ...(password && { password }) }
  const database = Object.entries(to).map(([key, value]) => `${key}=${decodeURIComponent(value)}`)
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: ownPort,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'session',
    max_client_conn: connections,
  }
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${value}`)
  const file = path.join(folder, 'pgbouncer.ini')
  await writeFile(file, ['[databases]', `* = ${database.join(' ')}`, '[pgbouncer]', ...lines, ''].join('\n'))
  // It refuses to run as root, and reads its configuration before it becomes another user.
  const user = process.getuid?.() === 0 ? ['--user', 'nobody'] : []
  const running = spawn(program, [...user, file], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  running.stderr.on('data', (chunk) => (said += String(chunk)))
  const ended = once(running, 'close')
  const url = `postgres://${username}@127.0.0.1:${ownPort}${pathname}`
  for (let tries = 0; !(await answers(url)); tries++) {
    if (running.exitCode !== null || tries === 200) throw new Error(`PgBouncer did not start: ${said}`)
    await wait(25)
  }
  return {
    url,
    async remove() {
      running.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true })
    },
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    return false
  }
}
