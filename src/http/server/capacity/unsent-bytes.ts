import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { readLimits } from '../../../limits.ts'
import { HeldBytes } from './held-bytes.ts'

/** The bodies of answers that clients have not taken off the gateway yet. */
export interface UnsentBytes {
  /** Counts an answer, which was just written, until it is sent. */
  add(response: ServerResponse, body: Buffer): void
  readonly bytes: number
}

export interface UnsentOptions {
  /** The time that every answer has, whatever its size. */
  readonly graceSeconds?: number
  /** How slowly an answer may be read. */
  readonly bytesPerSecond?: number
  /** How often it is looked whose time is over. */
  readonly sweepMilliseconds?: number
  /** Milliseconds, by a clock that never goes back. */
  readonly now?: () => number
}

/** What of one connection is not sent. */
interface Stalled {
  readonly socket: Socket
  readonly bodies: Map<ServerResponse, Buffer>
  /** The answer whose turn it is, and by when it has to be read. */
  turn: { readonly response: ServerResponse; readonly deadline: number } | null
  /** The socket's timeout before it stalled. */
  readonly silentMilliseconds: number
}

/**
 * Bounds the bytes of answers that wait for slow readers, and the time that each of them waits. Beyond the bytes the
 * connections that hold the most of them are cut; beyond the time, the connection that reads too slowly. A body that many
 * connections wait for counts once: node:http keeps a reference to it, not a copy.
 */
export function createUnsentBytes(mostBytes: number, options: UnsentOptions = {}): UnsentBytes {
  const { graceSeconds = readLimits.graceSeconds, bytesPerSecond = readLimits.bytesPerSecond } = options
  const { sweepMilliseconds = 5_000, now = () => performance.now() } = options
  const stalled = new Map<Socket, Stalled>()
  const held = new HeldBytes<Stalled>()
  let sweeping: NodeJS.Timeout | undefined

  function begin(socket: Socket): Stalled {
    const silentMilliseconds = socket.timeout ?? 0
    const begun = { socket, bodies: new Map<ServerResponse, Buffer>(), turn: null, silentMilliseconds }
    stalled.set(socket, begun)
    sweeping ??= setInterval(sweep, sweepMilliseconds).unref()
    // A socket whose write waits times out at the end of the second period without movement: net takes the first for
    // movement where a part of the write went at once.
    socket.setTimeout(silentMilliseconds / 2)
    return begun
  }

  function end(socket: Socket): void {
    const { silentMilliseconds } = stalled.get(socket) ?? { silentMilliseconds: 0 }
    // Another timeout stands where the connection idles by now.
    if (socket.timeout === silentMilliseconds / 2) socket.setTimeout(silentMilliseconds)
    stalled.delete(socket)
    if (stalled.size > 0) return
    clearInterval(sweeping)
    sweeping = undefined
  }

  function cut(each: Stalled): void {
    for (const body of each.bodies.values()) held.release(each, body)
    each.bodies.clear()
    end(each.socket)
    each.socket.destroy()
  }

  function cutDown(): void {
    let { greatest } = held
    while (greatest !== null && held.total > mostBytes) {
      cut(greatest)
      greatest = held.greatest
    }
  }

  /** Cuts who reads too slowly. A pipelined answer's time begins with its turn, as it is first seen here. */
  function sweep(): void {
    const time = now()
    for (const each of stalled.values()) {
      const [response, body] = [...each.bodies].find(([{ socket }]) => socket !== null) ?? []
      if (response === undefined || body === undefined) continue
      if (each.turn?.response !== response) each.turn = { response, deadline: time + allowed(body) }
      else if (time > each.turn.deadline) cut(each)
    }
  }

  /** Milliseconds that a client has to read a body. */
  function allowed(body: Buffer): number {
    return (graceSeconds + body.length / bytesPerSecond) * 1000
  }

  return {
    add(response, body) {
      const { socket } = response.req
      // All of it is with the kernel by now, as with most clients. A pipelined answer has no socket before its turn.
      if (socket.destroyed || (response.socket !== null && socket.writableLength === 0)) return
      const each = stalled.get(socket) ?? begin(socket)
      each.bodies.set(response, body)
      held.hold(each, body)
      response.once('close', () => {
        if (!each.bodies.delete(response)) return
        held.release(each, body)
        if (each.bodies.size === 0) end(socket)
      })
      cutDown()
    },

    get bytes() {
      return held.total
    },
  }
}
