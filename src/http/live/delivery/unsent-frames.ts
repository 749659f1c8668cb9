import { SenderBytes } from '../../server/capacity/sender-bytes.ts'

/** A stream that waits for its client to read. */
export interface SlowStream {
  /** Its client. */
  readonly sender: string
  /** Closes it, and releases what it holds. */
  cut(): void
}

/**
 * Limits the bytes of frames that the clients of all streams have not read: beyond the limit, the streams that hold the
 * most are closed, of the sender that holds the most. A frame that many streams wait for counts once, since it is in memory
 * once.
 */
export class UnsentFrames {
  readonly #held = new SenderBytes<SlowStream>()

  constructor(readonly maxBytes: number) {}

  get bytes(): number {
    return this.#held.total
  }

  hold(stream: SlowStream, frame: Buffer): void {
    this.#held.hold(stream.sender, stream, frame)
    let { greatest } = this.#held
    while (greatest !== null && this.#held.total > this.maxBytes) {
      greatest.cut()
      greatest = this.#held.greatest
    }
  }

  release(stream: SlowStream, frames: readonly Buffer[]): void {
    for (const frame of frames) this.#held.release(stream.sender, stream, frame)
  }
}
