import type { Socket } from 'node:net'

/**
 * Limits the number of new connections read in each iteration of the event loop. The first read of a connection can
 * contain 64 KB of requests or chunks, which take up to 50 ms to parse; the requests of all other connections wait for
 * the iteration to end.
 * @param perIteration number of new connections read in one iteration
 * @returns paces a connection that has just been accepted
 */
export function createConnectionPacing(perIteration: number): (socket: Socket) => void {
  const waiting = new Set<Socket>()
  let admitted = 0
  let isScheduled = false

  function next(): void {
    admitted = 0
    isScheduled = false
    for (const socket of waiting) {
      if (admitted >= perIteration) break
      waiting.delete(socket)
      admit(socket)
      socket.resume()
    }
    schedule()
  }

  function admit(socket: Socket): void {
    if (!socket.destroyed) admitted++
  }

  function schedule(): void {
    if (isScheduled || (admitted === 0 && waiting.size === 0)) return
    isScheduled = true
    setImmediate(next)
  }

  return (socket) => {
    if (admitted < perIteration && waiting.size === 0) admit(socket)
    else {
      socket.pause()
      waiting.add(socket)
      socket.once('close', () => waiting.delete(socket))
    }
    schedule()
  }
}
