import type { LiveConnection, Resumable } from '../delivery/live-connection.ts'

/** A key, to one of the streams that follow it. */
interface Followed {
  /** Writes the newest response to a stream that does not have it. */
  deliver(subscription: Subscription): void
}

/** The place of one stream among those that follow a key. */
export class Subscription implements Resumable {
  /** Revision of the key that was written last; 0 before the first. */
  written = 0

  /** @param joinedAt number of the key's evaluations that had begun before */
  constructor(
    readonly connection: LiveConnection,
    readonly key: Followed,
    readonly joinedAt: number,
  ) {}

  resume(): void {
    this.key.deliver(this)
  }
}
