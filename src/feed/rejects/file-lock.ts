import type { FileHandle } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

/** A file is locked for one read and one write. After this wait, work runs without the lock, and may write a line twice. */
const maxWaitMilliseconds = 10_000
const pauseMilliseconds = 10

/**
 * Runs work on an open file while no other process of this machine, or other part of this one, does so. The lock is a
 * listening socket with a name of Linux' abstract namespace: the system closes it when its process ends in any way, and it
 * leaves no file behind. Elsewhere, and between containers with separate network namespaces, nothing is locked.
 * @see unix(7), "Abstract sockets"
 */
export async function withFileLock<Result>(handle: FileHandle, work: () => Promise<Result>): Promise<Result> {
  const { dev, ino } = await handle.stat({ bigint: true })
  const server = await lock(`\0vault-gateway-file-${dev}-${ino}`)
  try {
    return await work()
  } finally {
    await new Promise<void>((resolve) => (server === null ? resolve() : server.close(() => resolve())))
  }
}

/** Listens at an address once no other socket does; null where that is impossible, or the wait ends before. */
async function lock(address: string): Promise<Server | null> {
  if (process.platform !== 'linux') return null
  const endsAt = performance.now() + maxWaitMilliseconds
  for (;;) {
    const { server, code } = await listen(address)
    if (code !== 'EADDRINUSE' || performance.now() > endsAt) return server
    await wait(pauseMilliseconds * (0.5 + Math.random()))
  }
}

function listen(path: string): Promise<{ readonly server: Server | null; readonly code?: string | undefined }> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy()).unref()
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve({ server: null, code }))
    server.listen({ path, exclusive: true }, () => resolve({ server }))
  })
}
