import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { readLimits, unsentResponseBytes } from '../../../limits.ts'
import { type HeldBody, HeldBytes } from './held-bytes.ts'

/** Counts the response bodies that clients have not received yet. */
export interface UnsentBytes {
  /** Counts a response that was just written, and its body, until it is sent. */
  add(response: ServerResponse, body: Buffer): void
  readonly bytes: number
}

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
  readonly responses: Map<ServerResponse, Unsent>
  /** The response at the head of the pipeline, and its deadline. */
  turn: { readonly response: ServerResponse; readonly deadline: number } | null
  /** The socket's timeout before it stalled. */
  readonly silentMilliseconds: number
}

/**
 * Limits the bytes of responses that wait for slow readers, and the time that each of them waits. Above the byte limit
 * the connections that hold the most bytes are closed; after the deadline, the connection that reads too slowly. A body
 * that many connections wait for counts once: node:http keeps a reference, not a copy. Response objects count too.
 */
export function createUnsentBytes(maxBytes: number, options: UnsentOptions = {}): UnsentBytes {
  const { graceSeconds = readLimits.graceSeconds, bytesPerSecond = readLimits.bytesPerSecond } = options
  const { sweepMilliseconds = 5_000, now = () => performance.now() } = options
  const stalled = new Map<Socket, Stalled>()
  const held = new HeldBytes<Stalled>()
  let sweeping: NodeJS.Timeout | undefined

  function begin(socket: Socket): Stalled {
    const silentMilliseconds = socket.timeout ?? 0
    const begun = { socket, responses: new Map<ServerResponse, Unsent>(), turn: null, silentMilliseconds }
    stalled.set(socket, begun)
    sweeping ??= setInterval(sweep, sweepMilliseconds).unref()
    // A socket with a pending write times out at the end of the second period without progress: net counts the first as
    // progress if a part of the write succeeded immediately.
    socket.setTimeout(silentMilliseconds / 2)
    return begun
  }

  function end(socket: Socket): void {
    const { silentMilliseconds } = stalled.get(socket) ?? { silentMilliseconds: 0 }
    // The timeout is a different one if the connection is idle by now.
    if (socket.timeout === silentMilliseconds / 2) socket.setTimeout(silentMilliseconds)
    stalled.delete(socket)
    if (stalled.size > 0) return
    clearInterval(sweeping)
    sweeping = undefined
  }

  function release(each: Stalled, { body, own }: Unsent): void {
    held.release(each, body)
    held.release(each, own)
  }

  function cut(each: Stalled): void {
    for (const unsent of each.responses.values()) release(each, unsent)
    each.responses.clear()
    end(each.socket)
    each.socket.destroy()
  }

  function cutDown(): void {
    let { greatest } = held
    while (greatest !== null && held.total > maxBytes) {
      cut(greatest)
      greatest = held.greatest
    }
  }

  /**
   * Closes the connections that read too slowly. The deadline of a pipelined response begins when this check first
   * finds it at the head.
   */
  function sweep(): void {
    const time = now()
    for (const each of stalled.values()) {
      const [response, unsent] = [...each.responses].find(([{ socket }]) => socket !== null) ?? []
      if (response === undefined || unsent === undefined) continue
      if (each.turn?.response !== response) each.turn = { response, deadline: time + allowed(unsent.body) }
      else if (time > each.turn.deadline) cut(each)
    }
  }

  /** Returns the milliseconds that a client has to read a body. */
  function allowed(body: Buffer): number {
    return (graceSeconds + body.length / bytesPerSecond) * 1000
  }

  return {
    add(response, body) {
      const { socket } = response.req
      if (socket.destroyed) return
      const each = stalled.get(socket) ?? begin(socket)
      const unsent = { body, own: { length: unsentResponseBytes } }
      each.responses.set(response, unsent)
      held.hold(each, body)
      held.hold(each, unsent.own)
      response.once('close', () => {
        if (!each.responses.delete(response)) return
        release(each, unsent)
        if (each.responses.size === 0) end(socket)
      })
      cutDown()
    },

    get bytes() {
      return held.total
    },
  }
}
