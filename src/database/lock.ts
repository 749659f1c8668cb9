import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Another process has the folder open. */
export class DataDirInUse extends Error {
  constructor(
    readonly folder: string,
    readonly holder: string,
  ) {
    super(
      `The embedded database in ${folder} is open in another process (${holder}), and belongs to one at a time. ` +
        'Stop that process, give this one a DATA_DIR of its own, or let both share a PostgreSQL by DATABASE_URL.',
    )
    this.name = 'DataDirInUse'
  }
}

/**
 * Holds a folder for this process alone. The lock is a listening socket with the folder's name, which the operating
 * system closes with the process however it ends: a killed one leaves nothing behind.
 * @returns what releases it
 * @throws {DataDirInUse} naming the process that has it
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const address = socketAddress(folder)
  const server = createServer((socket) => socket.end(`process ${process.pid}`))
  if (!(await listen(server, address))) {
    const holder = await askHolder(address)
    if (holder !== null) throw new DataDirInUse(folder, holder)
    // The holder has just let go or was killed: only a file would still stand in the way.
    if (isFile(address)) await rm(address, { force: true })
    if (!(await listen(server, address))) throw new DataDirInUse(folder, 'started at the same moment')
  }
  server.unref()
  return () => new Promise((resolve) => server.close(() => resolve()))
}

/** On Linux an abstract socket and on Windows a pipe, which have no file to outlive the process; elsewhere a file. */
function socketAddress(folder: string): string {
  const name = `vault-gateway-${createHash('sha256').update(folder).digest('hex').slice(0, 32)}`
  if (process.platform === 'linux') return `\0${name}`
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : path.join(tmpdir(), `${name}.sock`)
}

function isFile(address: string): boolean {
  return address.endsWith('.sock')
}

/** False where the address is taken. */
function listen(server: Server, address: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(error)
    }
    server.once('error', fail)
    server.listen(address, () => {
      server.off('error', fail)
      resolve(true)
    })
  })
}

/** Who holds the lock; null where nobody listens, so that the file is a killed process's. */
function askHolder(address: string): Promise<string | null> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(address)
      .setEncoding('utf8')
      .setTimeout(1_000, () => {
        resolve('which does not say who it is')
        // A busy holder would keep this process waiting for its answer.
        socket.destroy()
      })
      .on('data', (text: string) => (answer += text))
      .on('end', () => resolve(answer === '' ? null : answer))
      .on('error', () => resolve(null))
  })
}
