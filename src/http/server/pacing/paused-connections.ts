import type { Socket } from 'node:net'
import { WaitingConnections, type WaitingLimits } from './waiting-connections.ts'

/** Turns of an iteration of the event loop, in which connections are resumed. */
export interface ResumeTurns {
  /** 0 while only new connections are read. */
  readonly ofLight: number
  readonly ofShort: number
  /** Of `long` and `heavy`, each. */
  readonly ofHeavy: number
}

/**
 * The connections of a server that are paused until their turn to be read, in one queue each.
 *
 * At the limit of an address, one more new connection replaces the oldest of that address, which is closed. At the
 * limit of long input in total, it replaces the oldest of the address with the most. `heavy` may have twice as many,
 * because clients there may have left: the end of a connection is seen only by reading it.
 */
export class PausedConnections {
  /** Connections whose reads took little time, or those of their address. */
  readonly light = new WaitingConnections()
  /** Light connections that give way to those in `light`: they were read in this iteration, or their address is heavy. */
  readonly yielding = new WaitingConnections()
  /** New connections with short input. */
  readonly short: WaitingConnections
  /** New connections with long input. */
  readonly long: WaitingConnections
  /** Connections of other addresses. */
  readonly heavy: WaitingConnections
  /** The connections of all queues. */
  readonly all = new Set<Socket>()

  /**
   * @param maxOfSender maximum number of new connections of one address; with long input a quarter
   * @param ofLong limits on the connections with long input, of all addresses: their number, and the bytes that they sent
   */
  constructor(maxOfSender: number, ofLong: Pick<WaitingLimits, 'inAll' | 'bytes'>) {
    this.short = new WaitingConnections({ ofSender: maxOfSender })
    this.long = new WaitingConnections({ ofSender: maxOfSender / 4, ...ofLong })
    this.heavy = new WaitingConnections({ ofSender: 2 * maxOfSender, inAll: 2 * ofLong.inAll })
  }

  /** @param bytes of input that have already been read */
  add(socket: Socket, queue: WaitingConnections, bytes = 0): void {
    this.all.add(socket)
    queue.add(socket, bytes)
  }

  /** Removes a connection, if it waits. */
  delete(socket: Socket): void {
    this.all.delete(socket)
    for (const queue of [this.light, this.yielding, this.short, this.long, this.heavy]) queue.delete(socket)
  }

  /**
   * Removes the connections whose turn it is, and passes each on. libuv reads them in this order: a few of `heavy` have
   * their turn before the many of `light`, behind which the time for reading could be over each time.
   */
  resumeNext({ ofLight, ofShort, ofHeavy }: ResumeTurns, resume: (socket: Socket) => void): void {
    this.#resumeOf(this.heavy, ofHeavy, resume)
    this.#resumeOf(this.light, ofLight, resume)
    // They are resumed at the end of the next iteration, in which those that are resumed now are read.
    while (this.yielding.size > 0) for (const socket of this.yielding.take()) this.light.add(socket)
    this.#resumeOf(this.short, ofShort, resume)
    this.#resumeOf(this.long, ofHeavy, resume)
  }

  #resumeOf(queue: WaitingConnections, maxTurns: number, resume: (socket: Socket) => void): void {
    for (let turn = 0; turn < maxTurns && queue.size > 0; turn++) {
      for (const socket of queue.take()) {
        this.all.delete(socket)
        resume(socket)
      }
    }
  }
}
