import type { Socket } from 'node:net'
import { connectionLimits } from '../../../limits.ts'
import { senderOfSocket } from '../../sender.ts'
import { readFirst } from './first-read.ts'
import { pauseWhile } from '../pause-while.ts'
import { ReadCost, SenderCosts } from './read-cost.ts'
import { SlowStart, turnsPerIteration } from './slow-start.ts'
import { WaitingConnections, type WaitingLimits } from './waiting-connections.ts'

/** Decides when the connections of one server are read. */
export interface ReadPacing {
  /**
   * Adds a connection that was accepted paused (`pauseOnConnect` of node:net). It is resumed in its turn.
   * @param begin attaches its parser, after the first read
   */
  add(socket: Socket, begin: () => void): void
  /** Reports that a connection is being read: at each request, chunk of a body, and parse error. */
  onRead(socket: Socket): void
}

/**
 * Limits the time that one iteration of the event loop reads connections. libuv reads each connection with input, 64 KB
 * at a time, which can take 10 ms to parse; timers, database and responses wait meanwhile. After the time limit all
 * connections are paused, so that libuv skips the unread ones. The next iterations resume them: immediately if reads of
 * the connection or of its address took little time; otherwise a few at a time, with addresses taking turns. libuv reads
 * ready connections in the same order again, so those that were read, and those of addresses whose reads took long, give
 * way for one iteration: many clients that send as soon as they are answered cannot put off the others.
 *
 * New connections wait for their turn too. libuv accepts one in each iteration. After a long iteration, new connections
 * and those in `heavy` wait for twice its duration ({@link SlowStart}), or until no connection arrives. This empties
 * the kernel's queue, which is first in, first out. Input is read before it is parsed ({@link readFirst}). Connections
 * with short input go first, delayed only by the time of reads, so that a client at an attacker's address does not wait
 * for the attack's input.
 *
 * At the limit of an address, one more new connection replaces the oldest of that address, which is closed. At the
 * limit of long input in total, it replaces the oldest of the address with the most. `heavy` may have twice as many,
 * because clients there may have left: the end of a connection is seen only by reading it.
 * @param milliseconds maximum time per iteration in which connections are read
 * @param maxWaiting maximum number of new connections of one address that wait to be parsed; with long input a quarter
 * @param ofLong limits on the connections with long input, of all addresses: their number, and the bytes that they sent
 */
export function createReadPacing(
  milliseconds: number,
  maxWaiting: number,
  ofLong: Pick<WaitingLimits, 'inAll' | 'bytes'> = {
    inAll: connectionLimits.waitingLong,
    bytes: connectionLimits.waitingBytes,
  },
): ReadPacing {
  /** Starts the parsing of waiting new connections. */
  const beginOf = new WeakMap<Socket, () => void>()
  /** Connections that may be read. */
  const reading = new Set<Socket>()
  /** Paused connections whose reads took little time, or those of their address. */
  const light = new WaitingConnections()
  /** New connections with short input. */
  const short = new WaitingConnections({ ofSender: maxWaiting })
  /** New connections with long input. */
  const long = new WaitingConnections({ ofSender: maxWaiting / 4, ...ofLong })
  /** Paused connections of other addresses. */
  const heavy = new WaitingConnections({ ofSender: 2 * maxWaiting, inAll: 2 * ofLong.inAll })
  /** Light connections that give way to those in `light`: they were read in this iteration, or their address is heavy. */
  const yielding = new WaitingConnections()
  const queues = [light, yielding, short, long, heavy]
  /** Connections that wait in one of these. */
  const waiting = new Set<Socket>()
  /** Connections that were read in this iteration. */
  const wasRead = new Set<Socket>()
  const costs = new WeakMap<Socket, ReadCost>()
  const costsOfSenders = new SenderCosts(milliseconds / 4)
  /** Slow start of `short` by the time of reads, and of `long` and `heavy` by the time of all work. */
  const startOfShort = new SlowStart(milliseconds / 2)
  const startOfHeavy = new SlowStart(milliseconds / 2)
  let isScheduled = false
  let accepted = 0
  /** When this iteration started, or its first connection was accepted or read. */
  let since = 0
  /** Milliseconds that reads took in this iteration; other work, such as of an embedded database, does not count. */
  let spent = 0
  /** When the first connection was read in this iteration; null if none was. */
  let readSince: number | null = null
  /** The connection that is being read, since when. */
  let newest: { readonly socket: Socket; readonly at: number } | null = null

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    since = performance.now()
    setImmediate(endIteration)
  }

  /** Runs after the connections and reads of an iteration. */
  function endIteration(): void {
    isScheduled = false
    const took = performance.now() - since
    const hasAccepted = accepted > 0
    const turnsOfShort = startOfShort.next(spent, hasAccepted)
    const turnsOfHeavy = startOfHeavy.next(took, hasAccepted)
    accepted = 0
    spent = 0
    readSince = null
    wasRead.clear()
    if (waiting.size > 0) {
      resumeNext(light, turnsPerIteration)
      // They are resumed at the end of the next iteration, in which those that are resumed now are read.
      while (yielding.size > 0) for (const socket of yielding.take()) light.add(socket)
      resumeNext(short, turnsOfShort)
      resumeNext(long, turnsOfHeavy)
      resumeNext(heavy, turnsOfHeavy)
    }
    if (waiting.size > 0 || turnsOfShort === 0 || turnsOfHeavy === 0 || hasAccepted) schedule()
    else costsOfSenders.clear()
  }

  /** Charges a read to its connection and address. Runs after the read, or when the next connection's read starts. */
  function endRead(): void {
    if (newest === null) return
    const took = performance.now() - newest.at
    spent += took
    costs.get(newest.socket)?.add(took)
    if (took >= chargedMilliseconds) costsOfSenders.add(senderOfSocket(newest.socket), took)
    newest = null
  }

  function resumeNext(queue: WaitingConnections, maxTurns: number): void {
    for (let turn = 0; turn < maxTurns && queue.size > 0; turn++) for (const socket of queue.take()) resume(socket)
  }

  function resume(socket: Socket): void {
    waiting.delete(socket)
    if (socket.destroyed) return
    beginOf.get(socket)?.()
    beginOf.delete(socket)
    reading.add(socket)
    socket.resume()
  }

  /** @param bytes of input that have already been read */
  function wait(socket: Socket, queue: WaitingConnections, bytes = 0): void {
    waiting.add(socket)
    queue.add(socket, bytes)
    schedule()
  }

  function pauseAll(): void {
    for (const socket of reading) {
      socket.pause()
      const isHeavy = costsOfSenders.isHeavy(senderOfSocket(socket))
      if (isHeavy && costs.get(socket)?.isLow !== true) wait(socket, heavy)
      else wait(socket, isHeavy || wasRead.has(socket) ? yielding : light)
    }
    reading.clear()
  }

  return {
    add(socket, begin) {
      // In a burst of connections none is parsed immediately, because some clients leave before their turn.
      const wasIdle = !isScheduled
      const isIdle = (): boolean => wasIdle && waiting.size === 0
      accepted++
      schedule()
      costs.set(socket, new ReadCost())
      const first = readFirst(socket, isIdle, (isShort, bytes) => {
        short.delete(socket)
        waiting.delete(socket)
        if (isShort && isIdle()) resume(socket)
        else wait(socket, isShort ? short : long, bytes)
      })
      beginOf.set(socket, () => {
        first.end()
        begin()
        pauseWhile(socket, () => waiting.has(socket))
      })
      socket.once('close', () => {
        first.free()
        reading.delete(socket)
        waiting.delete(socket)
        for (const queue of queues) queue.delete(socket)
      })
    },

    onRead(socket) {
      const now = performance.now()
      if (newest?.socket !== socket) {
        endRead()
        newest = { socket, at: now }
        wasRead.add(socket)
        process.nextTick(endRead)
      }
      if (readSince === null) {
        readSince = now
        schedule()
      } else if (reading.size > 0 && now - readSince >= milliseconds) {
        endRead()
        pauseAll()
      }
    },
  }
}

/** Minimum duration of a read that is charged to its address. */
const chargedMilliseconds = 1
