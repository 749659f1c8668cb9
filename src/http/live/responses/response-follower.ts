import type { Drainable, LiveConnection } from '../delivery/live-connection.ts'

/** The followed response, to one of its streams. */
interface FollowerHost {
  /** Writes what a stream has missed, once its client has read everything before. */
  onDrained(follower: ResponseFollower): void
}

/** One of the streams that follow a response. */
export class ResponseFollower implements Drainable {
  /** Revision of the response that was written last; 0 before the first. */
  written = 0
  /** Whether the newest response waits until the client has read everything. */
  isBehind = false

  /** @param evaluationsBefore number of the response's evaluations that had begun before */
  constructor(
    readonly connection: LiveConnection,
    readonly host: FollowerHost,
    readonly evaluationsBefore: number,
  ) {}

  onDrained(): void {
    this.host.onDrained(this)
  }

  /**
   * Writes a frame, or has the response write to the stream when its client has read everything.
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

  /** Tells the client that its data may be out of date, or has the response do so when it has read everything. */
  sendStale(frame: Buffer): void {
    const { connection } = this
    if (connection.isFull) connection.whenDrained(this)
    else connection.sendStale(frame)
  }
}
