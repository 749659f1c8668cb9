import type { Socket } from 'node:net'
import { connectionLimits } from '../../../limits/connections.ts'
import { senderOfSocket } from '../../sender.ts'
import { pauseWhile } from '../pause-while.ts'
import { AcceptPhase, SlowStart, turnsPerIteration } from './after-long-iteration.ts'
import { type AwaitedEnds, readFirst } from './first-read.ts'
import { PausedConnections, type ResumeTurns } from './paused-connections.ts'
import { ConnectionReadTime, SenderReadTimes } from './read-times.ts'
import type { WaitingConnections, WaitingLimits } from './waiting-connections.ts'

/** Options of {@link ReadPacing}. */
export interface ReadPacingOptions {
  /** Maximum time per iteration in which connections are read. */
  readonly milliseconds: number
  /** Maximum number of new connections of one address that wait to be parsed. */
  readonly maxWaiting: number
  /** Limits on those with long input, of all addresses. */
  readonly ofLong?: Pick<WaitingLimits, 'inAll' | 'bytes'>
  /** Whether one address represents many clients: no address is then heavy. */
  readonly isBehindProxies?: boolean
}

const limitsOfLong = { inAll: connectionLimits.waitingLong, bytes: connectionLimits.waitingBytes }

/**
 * Decides when the connections of one server are read: limits the time that one iteration of the event loop reads
 * connections. libuv reads each connection with input, 64 KB at a time, which can take 10 ms to parse; timers, database
 * and responses wait meanwhile. After the time limit all connections are paused, so that libuv skips the unread ones. The
 * next iterations resume them ({@link PausedConnections}): immediately if reads of the connection or of its address took
 * little time; otherwise a few at a time, with addresses taking turns. libuv reads ready connections in the same order
 * again, so those that were read, and those of addresses whose reads took long, give way for one iteration: many clients
 * that send as soon as they are answered cannot put off the others.
 *
 * Behind proxies, an address tells nothing about its clients, and most of its connections have no input: they wait for
 * responses, carry streams or are idle. A few turns at a time, one with input would wait for many seconds behind those.
 *
 * New connections wait for their turn too. libuv accepts one in each iteration. After a long iteration, new connections
 * and those in `heavy` wait for twice its duration ({@link SlowStart}), or until no connection arrives. This empties the
 * kernel's queue, which is first in, first out. Where the iterations of that time are long too, because open connections
 * are read, these are paused for a while ({@link AcceptPhase}). Input is read before it is parsed ({@link readFirst}).
 * Connections with short input go first, delayed only by the time of reads, so that a client at an attacker's address
 * does not wait for the attack's input.
 */
export class ReadPacing {
  readonly #milliseconds: number
  readonly #isBehindProxies: boolean
  readonly #paused: PausedConnections
  /** Connections that may be read. */
  readonly #reading = new Set<Socket>()
  /** Attaches the parser of a new connection, which waits for its first turn. */
  readonly #attachParserOf = new WeakMap<Socket, () => void>()
  readonly #readTimes = new WeakMap<Socket, ConnectionReadTime>()
  readonly #readTimesOfSenders: SenderReadTimes
  readonly #awaitedEnds: AwaitedEnds = { count: 0 }
  readonly #acceptPhase: AcceptPhase
  /** Slow start of `short` by the time of reads, and of `long` and `heavy` by the time of all work. */
  readonly #startOfShort: SlowStart
  readonly #startOfHeavy: SlowStart

  /** Whether the end of this iteration is observed. */
  #isScheduled = false
  /** When this iteration started, or its first connection was accepted or read. */
  #since = 0
  /** When the first connection was read in this iteration; null if none was. */
  #readSince: number | null = null
  /** Milliseconds that reads took in this iteration; other work, such as of an embedded database, does not count. */
  #readMilliseconds = 0
  /** Whether new or heavy connections had turns before this iteration, so that it may be long because of them. */
  #hadTurns = false
  /** Number of connections that were accepted in this iteration. */
  #accepted = 0
  /** Connections that were read in this iteration. */
  readonly #wasRead = new Set<Socket>()
  /** The connection that is being read, since when. */
  #newest: { readonly socket: Socket; readonly at: number } | null = null

  constructor({ milliseconds, maxWaiting, ofLong = limitsOfLong, isBehindProxies = false }: ReadPacingOptions) {
    this.#milliseconds = milliseconds
    this.#isBehindProxies = isBehindProxies
    this.#paused = new PausedConnections(maxWaiting, ofLong)
    this.#readTimesOfSenders = new SenderReadTimes(milliseconds / 4)
    this.#acceptPhase = new AcceptPhase(milliseconds / 5)
    this.#startOfShort = new SlowStart(milliseconds / 2)
    this.#startOfHeavy = new SlowStart(milliseconds / 2)
  }

  /**
   * Adds a connection that was accepted paused (`pauseOnConnect` of node:net). It is resumed in its turn.
   * @param attachParser attaches its parser, after the first read
   */
  add(socket: Socket, attachParser: () => void): void {
    const paused = this.#paused
    // In a burst of connections none is parsed immediately, because some clients leave before their turn.
    const wasIdle = !this.#isScheduled
    const isIdle = (): boolean => wasIdle && paused.all.size === 0
    this.#accepted++
    this.#schedule()
    this.#readTimes.set(socket, new ConnectionReadTime())
    const first = readFirst(socket, this.#awaitedEnds, isIdle, (isShort, bytes) => {
      paused.delete(socket)
      if (isShort && isIdle()) this.#resume(socket)
      else this.#wait(socket, isShort ? paused.short : paused.long, bytes)
    })
    this.#attachParserOf.set(socket, () => {
      first.end()
      attachParser()
      pauseWhile(socket, () => paused.all.has(socket))
    })
    socket.once('close', () => {
      first.free()
      this.#reading.delete(socket)
      paused.delete(socket)
    })
  }

  /** Reports that a connection is being read: at each request, chunk of a body, and parse error. */
  onRead(socket: Socket): void {
    const now = performance.now()
    if (this.#newest?.socket !== socket) {
      this.#endRead()
      this.#newest = { socket, at: now }
      this.#wasRead.add(socket)
      process.nextTick(this.#endRead)
    }
    if (this.#readSince === null) {
      this.#readSince = now
      this.#schedule()
    } else if (this.#reading.size > 0 && now - this.#readSince >= this.#milliseconds) {
      this.#endRead()
      this.#pause(this.#reading)
    }
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#since = performance.now()
    setImmediate(this.#endIteration)
  }

  /** Runs after the connections and reads of an iteration. */
  readonly #endIteration = (): void => {
    this.#isScheduled = false
    const hasAccepted = this.#accepted > 0
    const milliseconds = performance.now() - this.#since
    const accepts = this.#acceptPhase.next(milliseconds, hasAccepted, !this.#hadTurns)
    if (accepts) this.#pause(this.#wasRead)
    const turns = this.#isBehindProxies ? allTurns : this.#nextTurns(milliseconds, hasAccepted)
    this.#hadTurns = !this.#isBehindProxies && turns.ofShort + turns.ofHeavy > 0
    this.#accepted = 0
    this.#readMilliseconds = 0
    this.#readSince = null
    this.#wasRead.clear()
    const { all } = this.#paused
    if (all.size > 0) this.#paused.resumeNext({ ...turns, ofLight: accepts ? 0 : turnsPerIteration }, this.#resume)
    if (all.size > 0 || turns.ofShort === 0 || turns.ofHeavy === 0 || hasAccepted) this.#schedule()
    else this.#readTimesOfSenders.clear()
  }

  #nextTurns(milliseconds: number, hasAccepted: boolean): Omit<ResumeTurns, 'ofLight'> {
    return {
      ofShort: this.#startOfShort.next(this.#readMilliseconds, hasAccepted),
      ofHeavy: this.#startOfHeavy.next(milliseconds, hasAccepted),
    }
  }

  /** Charges a read to its connection and address. Runs after the read, or when the next connection's read starts. */
  readonly #endRead = (): void => {
    if (this.#newest === null) return
    const { socket, at } = this.#newest
    const took = performance.now() - at
    this.#readMilliseconds += took
    this.#readTimes.get(socket)?.add(took)
    if (took >= chargedMilliseconds) this.#readTimesOfSenders.add(senderOfSocket(socket), took)
    this.#newest = null
  }

  readonly #resume = (socket: Socket): void => {
    if (socket.destroyed) return
    this.#attachParserOf.get(socket)?.()
    this.#attachParserOf.delete(socket)
    this.#reading.add(socket)
    socket.resume()
  }

  #wait(socket: Socket, queue: WaitingConnections, bytes?: number): void {
    this.#paused.add(socket, queue, bytes)
    this.#schedule()
  }

  #pause(sockets: Iterable<Socket>): void {
    const { heavy, light, yielding } = this.#paused
    for (const socket of sockets) {
      if (!this.#reading.delete(socket)) continue
      socket.pause()
      const isHeavy = !this.#isBehindProxies && this.#readTimesOfSenders.isHeavy(senderOfSocket(socket))
      if (isHeavy && this.#readTimes.get(socket)?.isLow !== true) this.#wait(socket, heavy)
      else this.#wait(socket, isHeavy || this.#wasRead.has(socket) ? yielding : light)
    }
  }
}

const allTurns = { ofShort: turnsPerIteration, ofHeavy: turnsPerIteration }
/** Minimum duration of a read that is charged to its address. */
const chargedMilliseconds = 1
