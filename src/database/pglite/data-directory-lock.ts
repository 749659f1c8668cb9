import { createHash } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { holdLockFile } from './lock-file.ts'
import { askHolder, closeSocket, listenOnSocket, createHolderSocket } from './lock-sockets.ts'

/** Another process has the data directory open. */
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
 * Locks a data directory for this process. The lock consists of two listening sockets, which the operating system
 * closes when the process ends in any way, so that a killed process leaves no stale lock: one socket is named after the
 * directory's device and inode and excludes other processes, one is a file in the directory and excludes processes in other
 * network namespaces, such as containers.
 * @param folder the directory, which must exist
 * @returns a function that releases the lock
 * @throws {DataDirInUse} when another process holds it; names that process
 */
export async function lockDataDirectory(folder: string): Promise<() => Promise<void>> {
  const address = await socketAddress(folder)
  const server = createHolderSocket(`process ${process.pid}`)
  if (!(await isFree(server, address))) {
    const holder = await askHolder(address)
    if (holder !== null) throw new DataDirInUse(folder, holder)
    // The holder has just ended or was killed: only its socket file may still occupy the address.
    if (isFile(address)) await rm(address, { force: true })
    if (!(await isFree(server, address))) throw new DataDirInUse(folder, 'started at the same moment')
  }
  const inFolder = await holdLockFile(folder)
  if (inFolder.holder !== null) {
    await closeSocket(server)
    throw new DataDirInUse(folder, inFolder.holder)
  }
  return async () => {
    await inFolder.release()
    await closeSocket(server)
  }
}

/**
 * Returns the address of the lock socket: an abstract socket on Linux and a named pipe on Windows, which leave no file
 * behind; elsewhere a socket file. It identifies the directory and not its path: containers that share a network
 * namespace may have different directories at one path, and one directory may have several paths.
 */
async function socketAddress(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true })
  const name = `vault-gateway-${createHash('sha256').update(`${dev}:${ino}`).digest('hex').slice(0, 32)}`
  if (process.platform === 'linux') return `\0${name}`
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : path.join(tmpdir(), `${name}.sock`)
}

function isFile(address: string): boolean {
  return address.endsWith('.sock')
}

/**
 * Starts listening at an address.
 * @returns false where another process listens there
 */
async function isFree(server: Server, address: string): Promise<boolean> {
  try {
    await listenOnSocket(server, address)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
    throw error
  }
}
