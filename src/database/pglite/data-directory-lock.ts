import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { holdLockFile } from './lock-file.ts'
import { askHolder, closeSocket, listenOnSocket, tellingSocket } from './lock-sockets.ts'

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
 * Holds a folder for this process alone. The lock is two listening sockets, which the operating system closes with the
 * process however it ends, so that a killed one leaves nothing that stands in the way: one with the folder's name, by which
 * one process at a time is let on, and one in the folder, for those that don't share this one's names.
 * @returns what releases it
 * @throws {DataDirInUse} naming the process that has it
 */
export async function lockDataDirectory(folder: string): Promise<() => Promise<void>> {
  const address = socketAddress(folder)
  const server = tellingSocket(`process ${process.pid}`)
  if (!(await isFree(server, address))) {
    const holder = await askHolder(address)
    if (holder !== null) throw new DataDirInUse(folder, holder)
    // The holder has just let go or was killed: only a file would still stand in the way.
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

/** On Linux an abstract socket and on Windows a pipe, which have no file to outlive the process; elsewhere a file. */
function socketAddress(folder: string): string {
  const name = `vault-gateway-${createHash('sha256').update(folder).digest('hex').slice(0, 32)}`
  if (process.platform === 'linux') return `\0${name}`
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : path.join(tmpdir(), `${name}.sock`)
}

function isFile(address: string): boolean {
  return address.endsWith('.sock')
}

/** Listens at an address; false where it is taken. */
async function isFree(server: Server, address: string): Promise<boolean> {
  try {
    await listenOnSocket(server, address)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
    throw error
  }
}
