import type { Drainable, LiveConnection } from '../delivery/live-connection.ts'

/** One of the streams that follow a response. */
export class Subscriber implements Drainable {
  /** Revision of the response that was written last; 0 before the first. */
  written = 0
  /** Whether the newest response waits until the client has read everything. */
  isBehind = false

  /**
   * @param evaluationsBefore number of the response's evaluations that had begun before
   * @param onDrained writes what the stream has missed, once its client has read everything before
   */
  constructor(
    readonly connection: LiveConnection,
    readonly evaluationsBefore: number,
    readonly onDrained: () => void,
  ) {}

  /**
   * Writes a frame, or calls `onDrained` when the client has read everything.
   * @returns whether it was written
   */
  write(frame: Buffer, revision: number): boolean {
    const { connection } = this
    this.isBehind = connection.isFull
    if (this.isBehind) {
      connection.whenDrained(this)
      return false
    }
    this.written = revision
    connection.hasSentStale = false
    connection.write(frame)
    return true
  }

  /** Ends the stream with a last frame. */
  end(frame: Buffer, revision: number): void {
    this.written = revision
    this.connection.end(frame)
  }

  /** Tells the client that its data may be out of date, or calls `onDrained` when it has read everything. */
  sendStale(frame: Buffer): void {
    const { connection } = this
    if (connection.isFull) connection.whenDrained(this)
    else connection.sendStale(frame)
  }
}
