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

/** A PostgreSQL server of a test, which can be stopped, frozen and replicated. */
export interface OwnPostgreSql {
  readonly url: string
  /** Stops the server: `fast` with a checkpoint, `immediate` as in a crash. */
  stop(how: 'fast' | 'immediate'): Promise<void>
  /** Starts the server; resolves when it answers. */
  start(): Promise<void>
  /** Kills all its processes, as a crash of the machine does. */
  kill(): Promise<void>
  /**
   * Starts a standby server with asynchronous streaming replication.
   * @param url address of this server for replication, such as that of a proxy; by default its own
   */
  standby(url?: string): Promise<OwnPostgreSql>
  /** Promotes a standby; resolves when it accepts writes. */
  promote(): Promise<void>
  /** Suspends its processes (SIGSTOP): connections stay open, and there is no answer. */
  freeze(): void
  /** Resumes its processes. */
  thaw(): void
  /** Stops it, and removes its folder. */
  remove(): Promise<void>
}

const installFolder = '/usr/lib/postgresql'

/** Reason to skip tests that need a server; null if PostgreSQL is installed, and in CI, where they must not be skipped. */
export const noOwnPostgreSql: string | null =
  newestBinFolder() !== null || process.env['CI'] === 'true'
    ? null
    : `there is no PostgreSQL server in ${installFolder}/*/bin: apt-get install postgresql`

/**
 * Starts a server in a temporary folder, on a free port.
 * @param dataFolder parent of its data directory; the write-ahead log stays in the temporary folder
 */
export function startOwnPostgreSql(dataFolder?: string): Promise<OwnPostgreSql> {
  const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync']
  return startServer((data, program, folder) => {
    const log = dataFolder === undefined ? [] : ['--waldir', path.join(folder, 'log')]
    return program('initdb', ['-D', data, ...log, ...options])
  }, dataFolder)
}

/** Runs a program of PostgreSQL as the server's user, until it exits. */
type Program = (name: string, args: readonly string[]) => Promise<unknown>

/**
 * Starts a server.
 * @param makeData fills the empty data directory
 * @param dataFolder parent of the data directory; by default the temporary folder
 */
async function startServer(
  makeData: (data: string, program: Program, folder: string) => Promise<unknown>,
  dataFolder?: string,
): Promise<OwnPostgreSql> {
  const bin = newestBinFolder()
  if (bin === null) throw new Error(noOwnPostgreSql ?? `there is no PostgreSQL server in ${installFolder}`)
  const folder = await mkdtemp(path.join(tmpdir(), 'postgresql-'))
  const user = serverUser()
  if (user !== null) await chown(folder, user.uid, user.gid)
  const data = path.join(dataFolder ?? folder, 'data')
  await mkdir(data, { mode: 0o700 })
  if (user !== null) await chown(data, user.uid, user.gid)
  const options = { cwd: '/', ...user }
  // Asynchronously, since it may connect to a proxy of this process.
  await makeData(data, (name, args) => promisify(execFile)(path.join(bin, name), args, options), folder)
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  // Without fsync, a commit survives a crash of the server, and not one of the machine: that is sufficient for tests.
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=', 'fsync=off']
  const run = () =>
    spawn(path.join(bin, 'postgres'), ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
      ...options,
      stdio: 'ignore',
    })

  let server: ChildProcess | null = null
  const started = async (): Promise<void> => {
    server = run()
    await waitForAnswer(url, server)
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
    for (const pid of processTree(server?.pid)) sendSignal(pid, name)
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
    promote: () => execute(url, 'select pg_promote()'),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async remove() {
      await stop('immediate')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Executes a statement on a new connection. */
async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(sql)
  await client.end()
}

/** Returns the `bin` folder of the newest version that Debian's packages have installed; null if there is none. */
function newestBinFolder(): string | null {
  if (!existsSync(installFolder)) return null
  const versions = readdirSync(installFolder).filter((version) =>
    existsSync(path.join(installFolder, version, 'bin/postgres')),
  )
  const [newest] = versions.sort((a, b) => Number(b) - Number(a))
  return newest === undefined ? null : path.join(installFolder, newest, 'bin')
}

/** Returns the user postgres if this process is root, since PostgreSQL refuses to run as root; null otherwise. */
function serverUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const id = (option: string): number => Number(execFileSync('id', [option, 'postgres']).toString())
  return { uid: id('-u'), gid: id('-g') }
}

/**
 * Polls a server until it answers.
 * @throws {Error} if it exits
 */
async function waitForAnswer(url: string, server: ChildProcess): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL exited with status ${server.exitCode}`)
    const client = new pg.Client({ connectionString: url })
    // An error during the query is handled as a failed attempt.
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

/** Sends a signal to a process, if it still exists. */
function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Returns the ids of a process and its children; the parent first, so that it cannot start more of them. */
function processTree(parent: number | undefined): number[] {
  if (parent === undefined) return []
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=']).toString().trim().split('\n')
  const processes = lines.map((line) => line.trim().split(/\s+/).map(Number))
  return [parent, ...processes.flatMap(([pid = 0, ppid]) => (ppid === parent ? [pid] : []))]
}
