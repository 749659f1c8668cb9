import type { Socket } from 'node:net'
import { FairQueue } from '../../graphql/execution/admission/fair-queue.ts'
import { senderOfSocket } from '../sender.ts'
import { readFirst } from './first-read.ts'
import { pauseWhile } from './pause-while.ts'
import { ReadCost } from './read-cost.ts'

/** Decides when the connections of one server are read. */
export interface ReadPacing {
  /**
   * Adds a connection that was accepted paused (`pauseOnConnect` of node:net). It is resumed when it is its turn.
   * @param begin adds its parser, after its first read
   */
  add(socket: Socket, begin: () => void): void
  /** Reports that a connection is being read: at each request, chunk of a body, and parse error. */
  onRead(socket: Socket): void
}

/**
 * Limits the time that one iteration of the event loop reads connections. libuv reads each connection that has input,
 * 64 KB at a time, which can contain requests or chunks that take 10 ms to parse; timers, the database and the responses
 * wait for the end of the iteration. When its time is over, all connections are paused, so that libuv skips those that
 * it has not read yet, and resumed in the next iterations: those that took little time, or whose addresses did, at once;
 * a few of the others, whose addresses take turns.
 *
 * New connections wait for their turn too. libuv accepts one in each iteration. After a long iteration the next ones only
 * accept, for twice as long as that one took (`restsUntil`), or until none comes. This empties the kernel's queue, which
 * is first in, first out. What they send is read before it is parsed ({@link readFirst}): those with short input go first,
 * so that a client whose address is that of an attack does not wait for all input of the attack.
 *
 * Where too many new connections of an address wait, one more replaces the oldest of them, which is closed.
 * @param milliseconds of one iteration in which connections are read
 * @param mostWaiting maximum number of new connections of one address that wait to be parsed; with long input a quarter
 */
export function createReadPacing(milliseconds: number, mostWaiting: number): ReadPacing {
  /** Begins to parse a new connection that waits for it. */
  const beginOf = new WeakMap<Socket, () => void>()
  /** Connections that may be read. */
  const reading = new Set<Socket>()
  /** Paused connections whose reads took little time, or those of their address. */
  const light = new FairQueue<Socket>()
  /** New connections with short input. */
  const short = new FairQueue<Socket>()
  /** New connections with long input, and paused ones of other addresses. */
  const others = new FairQueue<Socket>()
  const isPaused = new WeakSet<Socket>()
  const costs = new WeakMap<Socket, ReadCost>()
  /** Milliseconds that reads took since connections last had to wait, by address. */
  const spent = new Map<string, number>()
  let mostSpent = 0
  /** Number of turns of other connections in one iteration. */
  let turns = turnsPerIteration
  let isScheduled = false
  let accepted = 0
  /** When this iteration began, or its first connection was accepted or read. */
  let since = 0
  /** When the first connection was read in this iteration; null if none was. */
  let readSince: number | null = null
  /** The connection that is being read, since when. */
  let newest: { readonly socket: Socket; readonly at: number } | null = null
  let restsUntil = 0

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    since = performance.now()
    setImmediate(endIteration)
  }

  /** Runs after the connections and reads of an iteration. */
  function endIteration(): void {
    isScheduled = false
    const now = performance.now()
    const took = now - since
    const wasLong = took >= milliseconds / 2
    if (now >= restsUntil) {
      turns = wasLong ? fewestTurns : Math.min(2 * turns, turnsPerIteration)
      restsUntil = wasLong ? now + 2 * took : 0
    } else if (accepted === 0) restsUntil = 0
    const mayComeMore = accepted > 0
    accepted = 0
    readSince = null
    resumeNext(light, turnsPerIteration)
    if (now >= restsUntil) {
      resumeNext(short, turns)
      resumeNext(others, turns)
    }
    if (light.size + short.size + others.size > 0 || now < restsUntil || mayComeMore) schedule()
    else {
      spent.clear()
      mostSpent = 0
    }
  }

  /** Charges a read to its connection and its address. Node runs it as soon as all of the read is parsed. */
  function endRead(): void {
    if (newest === null) return
    const took = performance.now() - newest.at
    costOf(newest.socket).add(took)
    if (took >= chargedMilliseconds) {
      const sender = senderOfSocket(newest.socket)
      const ofSender = (spent.get(sender) ?? 0) + took
      spent.set(sender, ofSender)
      mostSpent = Math.max(mostSpent, ofSender)
    }
    newest = null
  }

  /** Resumes connections of so many addresses in turn: all of an address that has few, else one. */
  function resumeNext(queue: FairQueue<Socket>, mostTurns: number): void {
    for (let turn = 0; turn < mostTurns; turn++) {
      let socket = queue.take()
      if (socket === undefined) return
      const sender = senderOfSocket(socket)
      const isFew = queue.sizeOf(sender) < few
      resume(socket)
      while (isFew && (socket = queue.takeOf(sender)) !== undefined) resume(socket)
    }
  }

  function costOf(socket: Socket): ReadCost {
    let cost = costs.get(socket)
    if (cost === undefined) costs.set(socket, (cost = new ReadCost()))
    return cost
  }

  function resume(socket: Socket): void {
    isPaused.delete(socket)
    if (socket.destroyed) return
    beginOf.get(socket)?.()
    beginOf.delete(socket)
    reading.add(socket)
    socket.resume()
  }

  function wait(socket: Socket, queue: FairQueue<Socket>): void {
    isPaused.add(socket)
    queue.add(senderOfSocket(socket), socket)
    schedule()
  }

  function waitToBegin(socket: Socket, queue: FairQueue<Socket>): void {
    const sender = senderOfSocket(socket)
    const most = queue === short ? mostWaiting : Math.min(mostWaiting / 4, queue.sizeOf(sender) + mostLong - queue.size)
    if (queue.sizeOf(sender) >= most) {
      const oldest = queue.oldestOf(sender) ?? socket
      queue.delete(sender, oldest)
      oldest.destroy()
    }
    if (!socket.destroyed) wait(socket, queue)
  }

  /** Returns whether the connections of an address took long, also compared with others. */
  function isHeavy(sender: string): boolean {
    const ofSender = spent.get(sender) ?? 0
    return ofSender >= milliseconds / 4 && ofSender >= mostSpent / 4
  }

  function pauseAll(): void {
    for (const socket of reading) {
      socket.pause()
      wait(socket, isHeavy(senderOfSocket(socket)) && !costOf(socket).isLow ? others : light)
    }
    reading.clear()
  }

  return {
    add(socket, begin) {
      const sender = senderOfSocket(socket)
      accepted++
      schedule()
      const first = readFirst(socket, (isShort) => {
        short.delete(sender, socket)
        waitToBegin(socket, isShort ? short : others)
      })
      beginOf.set(socket, () => {
        first.end()
        begin()
        pauseWhile(socket, () => isPaused.has(socket))
      })
      socket.once('close', () => {
        reading.delete(socket)
        for (const queue of [light, short, others]) queue.delete(sender, socket)
      })
    },

    onRead(socket) {
      const now = performance.now()
      if (newest?.socket !== socket) {
        newest = { socket, at: now }
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

/** Maximum number of turns in one iteration. */
const turnsPerIteration = 256
/** Number of turns of other connections after a long iteration. */
const fewestTurns = 2
/** Maximum number of connections with long input that wait in all: each has up to 80 KB. */
const mostLong = 1_024
/** Number of waiting connections with which an address has few. */
const few = 16
/** Duration of a read that is worth a lookup of its address. */
const chargedMilliseconds = 1
