import type { Socket } from 'node:net'
import { FairQueue } from '../../graphql/execution/admission/fair-queue.ts'
import { senderOfAddress } from '../sender.ts'

/**
 * Limits how much of the time goes to the first read of new connections. It can contain 64 KB of requests or chunks,
 * which take 10 ms to parse; the requests of all other connections wait for the iteration of the event loop to end.
 *
 * libuv accepts one connection in each iteration. After an iteration that read new ones, the next ones only accept, for
 * as long as that one took (`restsUntil`), or until none comes. This empties the kernel's queue, which is first in, first
 * out, into `waiting`, where addresses take turns.
 * @param perIteration number of new connections read in one iteration
 * @returns resumes a connection that was accepted paused (`pauseOnConnect` of node:net) when it is its turn
 */
export function createConnectionPacing(perIteration: number): (socket: Socket) => void {
  const waiting = new FairQueue<Socket>()
  let isScheduled = false
  /** Since the last call of `next`, one iteration earlier. */
  let accepted = 0
  let admitted = 0
  let admittedAt = 0
  let restsUntil = 0

  /** Runs after the connections and reads of an iteration. */
  function next(): void {
    isScheduled = false
    const now = performance.now()
    if (admitted > 0) restsUntil = now + (now - admittedAt)
    else if (accepted === 0) restsUntil = 0
    accepted = 0
    admitted = 0
    admittedAt = now
    if (now >= restsUntil) admit()
    schedule()
  }

  function admit(): void {
    while (admitted < perIteration) {
      const socket = waiting.take()
      if (socket === undefined) return
      if (socket.destroyed) continue
      admitted++
      socket.resume()
    }
  }

  function schedule(): void {
    if (isScheduled || (admitted === 0 && waiting.size === 0)) return
    isScheduled = true
    setImmediate(next)
  }

  return (socket) => {
    const sender = senderOfAddress(socket.remoteAddress ?? '')
    waiting.add(sender, socket)
    socket.once('close', () => waiting.delete(sender, socket))
    accepted++
    schedule()
  }
}
