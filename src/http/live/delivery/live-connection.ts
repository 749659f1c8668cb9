import type { LiveLimits } from '../../../limits/live.ts'
import type { ByteSink } from '../../server/byte-sink.ts'
import type { SlowStream, UnsentFrames } from './unsent-frames.ts'

/**
 * Reasons for closing a stream: client gone or work done, client too slow, maximum age reached, or process stopping.
 */
export const closeReasons = ['end', 'slow', 'age', 'stop'] as const
export type CloseReason = (typeof closeReasons)[number]

/** Work on a stream that waits for its client to read. */
export interface Drainable {
  /** Called once the client has read everything. */
  onDrained(): void
}

/** One open stream, with backpressure: the bytes that its client has not read are limited. */
export class LiveConnection implements SlowStream {
  /** Whether the client was sent `stale`, and no newer data since. */
  hasSentStale = false
  /** Overrides the heartbeat, such as by one with the newest position of a ledger. */
  heartbeatFrame: (() => Buffer | null) | null = null
  readonly #sink: ByteSink
  readonly #limits: LiveLimits
  readonly #unsent: UnsentFrames
  /** Frames that are counted as unread. */
  #held: Buffer[] = []
  #heldBytes = 0
  #isClosed = false
  /** When the stream ends, in milliseconds of the monotonic clock. */
  readonly #endsAt: number
  #stalledAt: number | null = null
  /** When the end was written first; null before. */
  #endedAt: number | null = null
  #reason: CloseReason = 'end'
  /** Callbacks of its end. They share one listener of the socket, because a stream may follow many vaults. */
  #closed: ((reason: CloseReason) => void)[] = []
  /** Work that continues when the client has read everything; null if there is none. */
  #waiting: Set<Drainable> | null = null

  /**
   * @param sender its client, the unit of the limits on all streams
   * @param unsent counts what clients have not read
   */
  constructor(
    sink: ByteSink,
    limits: LiveLimits,
    readonly sender: string,
    unsent: UnsentFrames,
  ) {
    this.#sink = sink
    this.#unsent = unsent
    this.#limits = limits
    sink.onClose(() => {
      this.#isClosed = true
      this.#release()
      for (const closed of this.#closed.splice(0)) closed(this.#reason)
    })
    this.#endsAt = performance.now() + limits.lifeSeconds * 1000 * (0.9 + 0.2 * Math.random())
  }

  /** Whether the client has too much unread data for further writes, except for the end. */
  get isFull(): boolean {
    if (this.#stalledAt !== null) return true
    if (this.#sink.unsentBytes <= this.#limits.unsentBytes) return false
    this.#stalledAt = performance.now()
    this.#sink.onDrain(() => {
      this.#stalledAt = null
      const waiting = this.#waiting ?? []
      this.#waiting = null
      for (const each of waiting) each.onDrained()
    })
    return true
  }

  /** Returns whether the client has left written data, or the end of the stream, unread for too long. */
  isStalled(now: number): boolean {
    const since = this.#endedAt ?? (this.isFull ? this.#stalledAt : null)
    return since !== null && now - since >= this.#limits.stallSeconds * 1000
  }

  isExpired(now: number): boolean {
    return this.#endedAt === null && now >= this.#endsAt
  }

  /** Writes a frame; callers check `isFull` first. */
  write(frame: Buffer): void {
    this.#send(frame)
  }

  /** Sends `stale`: the client's data may be out of date. Does nothing if that was sent since the newest data. */
  sendStale(frame: Buffer): void {
    if (this.hasSentStale || this.isFull) return
    this.hasSentStale = true
    this.#send(frame)
  }

  heartbeat(usual: Buffer): void {
    if (!this.isFull) this.#send(this.heartbeatFrame?.() ?? usual)
  }

  /** Calls `onDrained` once the client has read everything; repeated calls before that have no effect. */
  whenDrained(work: Drainable): void {
    this.#waiting ??= new Set()
    this.#waiting.add(work)
  }

  onClose(closed: (reason: CloseReason) => void): void {
    this.#closed.push(closed)
  }

  /** Ends the stream after a last frame; later frames are discarded. */
  end(last: Buffer, reason: CloseReason = 'end'): void {
    this.#reason = reason
    this.#send(last)
    this.#endedAt ??= performance.now()
    this.#sink.end()
  }

  /** Closes the connection immediately. */
  destroy(reason: CloseReason): void {
    this.#reason = reason
    this.#release()
    this.#sink.destroy()
  }

  cut(): void {
    this.destroy('slow')
  }

  #send(frame: Buffer): void {
    if (this.#endedAt !== null) return
    this.#sink.write(frame, this.#releaseSent)
    if (this.#sink.unsentBytes === 0 || this.#isClosed) return
    this.#held.push(frame)
    this.#heldBytes += frame.length
    this.#unsent.hold(this, frame)
  }

  /** Stops counting frames that have been sent: all but the last ones. */
  readonly #releaseSent = (): void => {
    if (this.#held.length === 0) return
    const { unsentBytes } = this.#sink
    let sent = 0
    for (const { length } of this.#held) {
      if (this.#heldBytes - length < unsentBytes) break
      this.#heldBytes -= length
      sent++
    }
    if (sent > 0) this.#unsent.release(this, this.#held.splice(0, sent))
  }

  #release(): void {
    this.#unsent.release(this, this.#held)
    this.#held = []
    this.#heldBytes = 0
  }
}
