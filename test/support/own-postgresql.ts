import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { chown, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './free-port.ts'

/** A PostgreSQL server that its starter may stop, start, freeze and have followed as it likes. */
export interface OwnPostgreSql {
  readonly url: string
  /** `fast` ends what runs and writes all that it holds, `immediate` leaves everything as a crash does. */
  stop(how: 'fast' | 'immediate'): Promise<void>
  /** Resolves when it answers. */
  start(): Promise<void>
  /** Kills all its processes at once, as the machine's end does. */
  kill(): Promise<void>
  /**
   * Starts another server that follows this one, asynchronously.
   * @param url where it gets this one's log from, such as a proxy's; its own address unless one is given
   */
  standby(url?: string): Promise<OwnPostgreSql>
  /** Makes a standby the primary. Resolves when it takes writes. */
  promote(): Promise<void>
  /** Keeps its processes from running: connections stay, and nothing comes. */
  freeze(): void
  thaw(): void
  /** Stops it, and takes its folder away. */
  remove(): Promise<void>
}

const packaged = '/usr/lib/postgresql'

/** Why no server can be started here; null where one can, or where the machine's tests must have one. */
export const noOwnPostgreSql: string | null =
  programs() !== null || process.env['CI'] === 'true'
    ? null
    : `there are no server programs in ${packaged}/*/bin: apt-get install postgresql`

/**
 * Starts a server of the installed programs in a folder of its own, on a free port.
 * @param disk a folder for its data, without its log of changes, for which there is always room
 */
export function startOwnPostgreSql(disk?: string): Promise<OwnPostgreSql> {
  const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync']
  return startServer((data, program, folder) => {
    const log = disk === undefined ? [] : ['--waldir', path.join(folder, 'log')]
    return program('initdb', ['-D', data, ...log, ...options])
  }, disk)
}

/** Runs an installed program to its end, as the server's user. */
type Program = (name: string, args: readonly string[]) => Promise<unknown>

/**
 * @param makeData makes the folder of its data
 * @param disk where that is; beside its log unless one is given
 */
async function startServer(
  makeData: (data: string, program: Program, folder: string) => Promise<unknown>,
  disk?: string,
): Promise<OwnPostgreSql> {
  const bin = programs()
  if (bin === null) throw new Error(`PostgreSQL can't be started: ${noOwnPostgreSql ?? `${packaged} lacks it`}`)
  const folder = await mkdtemp(path.join(tmpdir(), 'postgresql-'))
  const user = serverUser()
  if (user !== null) await chown(folder, user.uid, user.gid)
  const data = path.join(disk ?? folder, 'data')
  await mkdir(data, { mode: 0o700 })
  if (user !== null) await chown(data, user.uid, user.gid)
  const options = { cwd: '/', ...user }
  // What it connects to may be a proxy of this process.
  await makeData(data, (name, args) => promisify(execFile)(path.join(bin, name), args, options), folder)
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  // A commit that was answered has to outlive a crash of the server; nothing here outlives one of the machine.
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=', 'fsync=off']
  const run = () =>
    spawn(path.join(bin, 'postgres'), ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
      ...options,
      stdio: 'ignore',
    })

  let server: ChildProcess | null = null
  const started = async (): Promise<void> => {
    server = run()
    await answering(url, server)
  }
  const ended = async (end: (server: ChildProcess) => void): Promise<void> => {
    if (server === null) return
    const exit = once(server, 'exit')
    end(server)
    await exit
    server = null
  }
  const stop = (how: 'fast' | 'immediate'): Promise<void> =>
    ended((running) => void running.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT'))
  const signal = (name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void => {
    for (const pid of family(server?.pid)) sendSignal(pid, name)
  }
  await started()
  return {
    url,
    stop,
    start: started,
    kill: () => ended(() => signal('SIGKILL')),
    standby: (from = url) =>
      startServer((copy, program) =>
        program('pg_basebackup', ['-d', from, '-D', copy, '-R', '-X', 'stream', '-c', 'fast', '--no-sync']),
      ),
    promote: () => asked(url, 'select pg_promote()'),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async remove() {
      await stop('immediate')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function asked(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(sql)
  await client.end()
}

/** The newest programs that are installed, as Debian installs them; null where none are. */
function programs(): string | null {
  if (!existsSync(packaged)) return null
  const versions = readdirSync(packaged).filter((version) => existsSync(path.join(packaged, version, 'bin/postgres')))
  const [newest] = versions.sort((a, b) => Number(b) - Number(a))
  return newest === undefined ? null : path.join(packaged, newest, 'bin')
}

/** PostgreSQL refuses to run as root: it runs as its own user then. */
function serverUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const id = (what: string): number => Number(execFileSync('id', [what, 'postgres']).toString())
  return { uid: id('-u'), gid: id('-g') }
}

async function answering(url: string, server: ChildProcess): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended at once, with ${server.exitCode}`)
    const client = new pg.Client({ connectionString: url })
    // One that breaks while it is asked is asked again.
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query('select 1')
      return await client.end()
    } catch {
      await wait(50)
    }
  }
}

/** To a process that may just have ended. */
function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** A process and its children, the parent first, so that it starts no more of them. */
function family(parent: number | undefined): number[] {
  if (parent === undefined) return []
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=']).toString().trim().split('\n')
  const processes = lines.map((line) => line.trim().split(/\s+/).map(Number))
  return [parent, ...processes.flatMap(([pid = 0, ppid]) => (ppid === parent ? [pid] : []))]
}
