import { randomUUID } from 'node:crypto'
import { readdir, rename, rm } from 'node:fs/promises'
import type { Server } from 'node:net'
import { hostname } from 'node:os'
import path from 'node:path'
import { askHolder, closeSocket, listenOnSocket, createHolderSocket } from './lock-sockets.ts'

/** Result of locking a folder: its release, or the process that holds the lock. */
export type LockFile = { readonly holder: null; readonly release: () => Promise<void> } | { readonly holder: string }

/**
 * Maximum length of a socket's file name in bytes: the smallest `sun_path` of the supported systems, minus its
 * terminator.
 * @see unix(7), "Address format"
 */
const maxNameBytes = 103
const ending = '.sock'

/**
 * Locks a folder by a socket file in it, which every process that sees the folder can find, also from a container with
 * its own network namespace. Each process creates a socket with a unique name, then looks for others: of two that start
 * at the same moment at least one sees the other, and a stale file that is removed is never one that was just created.
 * @returns the holder where another process listens; otherwise the function that releases the lock
 */
export async function holdLockFile(folder: string): Promise<LockFile> {
  const own = path.join(folder, `open-${randomUUID().slice(0, 8)}${ending}`)
  const server = await listenInFolder(`${own}.new`)
  if (server === null) return { holder: null, release: () => Promise.resolve() }
  const release = async (): Promise<void> => {
    await rm(own, { force: true })
    await closeSocket(server)
  }
  // The file gets its final name only now that the socket answers: earlier it would look stale.
  await rename(`${own}.new`, own)
  for (const other of await socketsIn(folder)) {
    if (other === own) continue
    const holder = await askHolder(shortestPath(other))
    if (holder === null) await rm(other, { force: true })
    else {
      await release()
      return { holder }
    }
  }
  return { holder: null, release }
}

/**
 * Creates a listening socket file.
 * @returns null where that is impossible: the name is too long, or the file system or platform has no socket files
 */
async function listenInFolder(file: string): Promise<Server | null> {
  const address = shortestPath(file)
  if (process.platform === 'win32' || Buffer.byteLength(address) > maxNameBytes) return null
  const server = createHolderSocket(`process ${process.pid} on ${hostname()}`)
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

/** Returns the shortest path of a file, because the length of a socket's name is limited. */
function shortestPath(file: string): string {
  const relative = path.relative('', file)
  return relative.length < file.length ? relative : file
}
