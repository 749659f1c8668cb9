import type { DataVersions } from '../../cache/data-versions.ts'
import type { Drainable, LiveConnection } from '../delivery/live-connection.ts'
import type { SharedQuery } from './shared-query.ts'

/** One of the streams that follow a response. */
export class ResponseSubscriber implements Drainable {
  /** Revision of the response that was written last; 0 before the first. */
  written = 0
  /** Whether the client was told that this response may be out of date, and was sent no newer one since. */
  #hasSentStale = false
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
    this.#hasSentStale = false
    connection.hasSentStale = false
    connection.write(frame)
    return true
  }

  /** Ends the stream with a last frame. */
  end(frame: Buffer, revision: number): void {
    this.written = revision
    this.connection.end(frame)
  }

  /**
   * Tells the client once that the response may be out of date, or all responses of its stream, or calls `onDrained` when it
   * has read everything.
   */
  sendStale({ staleFrame, ownStaleFrame }: SharedQuery, { isListening }: Pick<DataVersions, 'isListening'>): void {
    const { connection } = this
    if (this.#hasSentStale || connection.hasSentStale) return
    if (connection.isFull) return connection.whenDrained(this)
    // Without notifications of commits, all responses may be out of date.
    if (!isListening) return connection.sendStale(staleFrame)
    this.#hasSentStale = true
    connection.write(ownStaleFrame)
  }
}
