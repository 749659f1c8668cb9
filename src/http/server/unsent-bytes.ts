import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { readLimits } from '../../limits.ts'

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
  const holders = new Map<Buffer, number>()
  let total = 0
  let sweeping: NodeJS.Timeout | undefined

  function hold(body: Buffer): void {
    const count = holders.get(body) ?? 0
    holders.set(body, count + 1)
    if (count === 0) total += body.length
  }

  function release(body: Buffer): void {
    const count = holders.get(body) ?? 0
    if (count > 1) return void holders.set(body, count - 1)
    holders.delete(body)
    total -= body.length
  }

  function begin(socket: Socket): Stalled {
    const silentMilliseconds = socket.timeout ?? 0
    const begun = { bodies: new Map<ServerResponse, Buffer>(), turn: null, silentMilliseconds }
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

  /** The bytes that would be free without a connection, a shared body in equal parts. */
  function shareOf({ bodies }: Stalled): number {
    let bytes = 0
    for (const body of bodies.values()) bytes += body.length / (holders.get(body) ?? 1)
    return bytes
  }

  function cutLargest(): void {
    let [largest] = stalled
    for (const each of stalled) if (largest && shareOf(each[1]) > shareOf(largest[1])) largest = each
    if (largest !== undefined) cut(...largest)
  }

  function cut(socket: Socket, { bodies }: Stalled): void {
    for (const body of bodies.values()) release(body)
    bodies.clear()
    end(socket)
    socket.destroy()
  }

  /** Cuts who reads too slowly. A pipelined answer's time begins with its turn, as it is first seen here. */
  function sweep(): void {
    const time = now()
    for (const [socket, each] of stalled) {
      const [response, body] = [...each.bodies].find(([{ socket }]) => socket !== null) ?? []
      if (response === undefined || body === undefined) continue
      if (each.turn?.response !== response) each.turn = { response, deadline: time + allowed(body) }
      else if (time > each.turn.deadline) cut(socket, each)
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
      const { bodies } = stalled.get(socket) ?? begin(socket)
      bodies.set(response, body)
      hold(body)
      response.once('close', () => {
        if (!bodies.delete(response)) return
        release(body)
        if (bodies.size === 0) end(socket)
      })
      while (total > mostBytes && stalled.size > 0) cutLargest()
    },

    get bytes() {
      return total
    },
  }
}
