import type { Socket } from 'node:net'
import { FairQueue } from '../../../fairness/fair-queue.ts'
import { senderOfSocket } from '../../sender.ts'

/** Maximum numbers of connections that wait in one queue. */
export interface WaitingLimits {
  readonly ofSender: number
  readonly inAll: number
  /** Bytes of their input that are buffered. */
  readonly bytes: number
}

/**
 * Connections that wait for their turn to be read. Networks take turns, and so do the addresses within a network. At
 * the limit of an address, one more connection replaces and closes its oldest one; at a limit of the queue, the oldest
 * of the largest address.
 */
export class WaitingConnections {
  readonly #limits: WaitingLimits
  readonly #queue = new FairQueue<Socket>()
  readonly #bytesOf = new Map<Socket, number>()
  #bytes = 0

  constructor(limits: Partial<WaitingLimits> = {}) {
    this.#limits = { ofSender: Infinity, inAll: Infinity, bytes: Infinity, ...limits }
  }

  get size(): number {
    return this.#queue.size
  }

  /** @param bytes of input that have already been read */
  add(socket: Socket, bytes = 0): void {
    const sender = senderOfSocket(socket)
    if (this.#queue.sizeOf(sender) >= this.#limits.ofSender) this.#closeOldest(sender)
    while (this.size > 0 && (this.size >= this.#limits.inAll || this.#bytes + bytes > this.#limits.bytes)) {
      this.#closeOldest(this.#queue.largest() ?? sender)
    }
    this.#queue.add(sender, socket)
    this.#bytesOf.set(socket, bytes)
    this.#bytes += bytes
  }

  /** Removes a connection, if it waits. */
  delete(socket: Socket): void {
    this.#queue.delete(senderOfSocket(socket), socket)
    this.#forget(socket)
  }

  /** Removes and returns the connections whose turn it is: all of an address with few connections, else one. */
  take(): readonly Socket[] {
    const first = this.#queue.take()
    if (first === undefined) return []
    const { sender, entry } = first
    const taken = [entry]
    if (this.#queue.sizeOf(sender) < few) {
      for (let next; (next = this.#queue.takeOf(sender)) !== undefined;) taken.push(next)
    }
    for (const socket of taken) this.#forget(socket)
    return taken
  }

  #closeOldest(sender: string): void {
    const oldest = this.#queue.oldestOf(sender)
    if (oldest === undefined) return
    this.delete(oldest)
    oldest.destroy()
  }

  #forget(socket: Socket): void {
    this.#bytes -= this.#bytesOf.get(socket) ?? 0
    this.#bytesOf.delete(socket)
  }
}

/** An address with fewer waiting connections than this has all of them resumed in one turn. */
const few = 16
