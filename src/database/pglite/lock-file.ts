import { randomUUID } from 'node:crypto'
import { readdir, rename, rm } from 'node:fs/promises'
import type { Server } from 'node:net'
import { hostname } from 'node:os'
import path from 'node:path'
import { askHolder, closeSocket, listenOnSocket, tellingSocket } from './lock-sockets.ts'

export type LockFile =
  | { readonly holder: null; readonly release: () => Promise<void> }
  /** Another process has the folder. */
  | { readonly holder: string }

/** How many bytes the name of a socket may have, by the shortest of the systems' bounds. */
const mostNameBytes = 103
const ending = '.sock'

/**
 * Holds a folder by a socket in it, which whoever shares the folder finds, also from a container with a network of its
 * own. Each process has a socket of its own name, and looks for the others when its own can be found: of two that start at
 * the same moment one at least sees the other, and what is removed as a killed process's is never what one has just made.
 */
export async function holdLockFile(folder: string): Promise<LockFile> {
  const own = path.join(folder, `open-${randomUUID().slice(0, 8)}${ending}`)
  const server = await listeningAt(`${own}.new`)
  if (server === null) return { holder: null, release: () => Promise.resolve() }
  const release = async (): Promise<void> => {
    await rm(own, { force: true })
    await closeSocket(server)
  }
  // It is found only now that it answers: before, it would be taken for a killed process's.
  await rename(`${own}.new`, own)
  for (const other of await socketsIn(folder)) {
    if (other === own) continue
    const holder = await askHolder(shortest(other))
    if (holder === null) await rm(other, { force: true })
    else {
      await release()
      return { holder }
    }
  }
  return { holder: null, release }
}

/** Null where a socket can't be: the name is too long, the file system knows none, or sockets are no files. */
async function listeningAt(file: string): Promise<Server | null> {
  const address = shortest(file)
  if (process.platform === 'win32' || Buffer.byteLength(address) > mostNameBytes) return null
  const server = tellingSocket(`process ${process.pid} on ${hostname()}`)
  return listenOnSocket(server, address).then(
    () => server,
    () => null,
  )
}

async function socketsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder)
  return names
    .filter((name) => name.startsWith('open-') && name.endsWith(ending))
    .map((name) => path.join(folder, name))
}

/** A file by its shortest name, for that of a socket has a bound. */
function shortest(file: string): string {
  const relative = path.relative('', file)
  return relative.length < file.length ? relative : file
}
