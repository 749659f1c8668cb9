import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { slowReaderLimits, unsentResponseBytes } from '../../../limits/connections.ts'
import type { HeldBody } from './held-bytes.ts'
import { SenderBytes } from './sender-bytes.ts'

export interface UnsentOptions {
  /** Time allowed for every response regardless of its size. */
  readonly graceSeconds?: number
  /** Minimum rate at which a client must read a response. */
  readonly bytesPerSecond?: number
  /** Interval of the check for expired deadlines. */
  readonly sweepMilliseconds?: number
  /** Current time in milliseconds, by a monotonic clock. */
  readonly now?: () => number
}

/** The memory of an unsent response. */
interface Unsent {
  readonly body: Buffer
  /** Memory of the response object, which is not shared. */
  readonly own: HeldBody
}

/** Unsent responses of one connection. */
interface Stalled {
  readonly socket: Socket
  readonly sender: string
  readonly responses: Map<ServerResponse, Unsent>
  /** The response at the head of the pipeline, and its deadline. */
  head: { readonly response: ServerResponse; readonly deadline: number } | null
  /** The socket's timeout before it stalled. */
  readonly silentMilliseconds: number
}

/**
 * Limits the bytes of responses that wait for slow readers, and the time that each of them waits. Above the byte limit
 * the connections that hold the most bytes are closed, of the sender that holds the most; after the deadline, the
 * connection that reads too slowly. A body that many connections wait for counts once: node:http keeps a reference, not a
 * copy. Response objects count too.
 */
export class UnsentBytes {
  readonly #maxBytes: number
  readonly #graceSeconds: number
  readonly #bytesPerSecond: number
  readonly #sweepMilliseconds: number
  readonly #now: () => number
  readonly #stalled = new Map<Socket, Stalled>()
  readonly #held = new SenderBytes<Stalled>()
  #sweeping: NodeJS.Timeout | undefined

  constructor(maxBytes: number, options: UnsentOptions = {}) {
    const { graceSeconds = slowReaderLimits.graceSeconds, bytesPerSecond = slowReaderLimits.bytesPerSecond } = options
    const { sweepMilliseconds = 5_000, now = () => performance.now() } = options
    this.#maxBytes = maxBytes
    this.#graceSeconds = graceSeconds
    this.#bytesPerSecond = bytesPerSecond
    this.#sweepMilliseconds = sweepMilliseconds
    this.#now = now
  }

  get bytes(): number {
    return this.#held.total
  }

  /** Counts a response that was just written, and its body, until it is sent. */
  add(response: ServerResponse, body: Buffer, sender: string): void {
    const { socket } = response.req
    if (socket.destroyed) return
    const each = this.#stalled.get(socket) ?? this.#stall(socket, sender)
    const unsent = { body, own: { length: unsentResponseBytes } }
    each.responses.set(response, unsent)
    this.#held.hold(each.sender, each, body)
    this.#held.hold(each.sender, each, unsent.own)
    response.once('close', () => {
      if (!each.responses.delete(response)) return
      this.#release(each, unsent)
      if (each.responses.size === 0) this.#end(socket)
    })
    this.#cutDown()
  }

  #stall(socket: Socket, sender: string): Stalled {
    const silentMilliseconds = socket.timeout ?? 0
    const stalled = { socket, sender, responses: new Map<ServerResponse, Unsent>(), head: null, silentMilliseconds }
    this.#stalled.set(socket, stalled)
    this.#sweeping ??= setInterval(() => this.#sweep(), this.#sweepMilliseconds).unref()
    // A socket with a pending write times out at the end of the second period without progress: net counts the first as
    // progress if a part of the write succeeded immediately.
    socket.setTimeout(silentMilliseconds / 2)
    return stalled
  }

  #end(socket: Socket): void {
    const { silentMilliseconds } = this.#stalled.get(socket) ?? { silentMilliseconds: 0 }
    // The timeout is a different one if the connection is idle by now.
    if (socket.timeout === silentMilliseconds / 2) socket.setTimeout(silentMilliseconds)
    this.#stalled.delete(socket)
    if (this.#stalled.size > 0) return
    clearInterval(this.#sweeping)
    this.#sweeping = undefined
  }

  #release(each: Stalled, { body, own }: Unsent): void {
    this.#held.release(each.sender, each, body)
    this.#held.release(each.sender, each, own)
  }

  #cut(each: Stalled): void {
    for (const unsent of each.responses.values()) this.#release(each, unsent)
    each.responses.clear()
    this.#end(each.socket)
    each.socket.destroy()
  }

  #cutDown(): void {
    let { greatest } = this.#held
    while (greatest !== null && this.#held.total > this.#maxBytes) {
      this.#cut(greatest)
      greatest = this.#held.greatest
    }
  }

  /**
   * Closes the connections that read too slowly. The deadline of a pipelined response begins when this check first
   * finds it at the head.
   */
  #sweep(): void {
    const time = this.#now()
    for (const each of this.#stalled.values()) {
      const [response, unsent] = [...each.responses].find(([{ socket }]) => socket !== null) ?? []
      if (response === undefined || unsent === undefined) continue
      if (each.head?.response !== response) each.head = { response, deadline: time + this.#allowed(unsent.body) }
      else if (time > each.head.deadline) this.#cut(each)
    }
  }

  /** Returns the milliseconds that a client has to read a body. */
  #allowed(body: Buffer): number {
    return (this.#graceSeconds + body.length / this.#bytesPerSecond) * 1000
  }
}
