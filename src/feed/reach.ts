import type { Database } from '../database/database.ts'
import { type FeedReach, saveFeedReach } from '../database/write/feed.ts'
import { FeedMoved } from './feed-position.ts'

/** So often it is written that a feed at its end is up to date: quiet is not late. */
const pauseMilliseconds = 10_000

/** A source was found to hold no more than it has given; all of that has been applied when it is told. */
export interface SourceEnd {
  /** When it was looked for more, by performance.now(). */
  readonly lookedAtMilliseconds: number
  /** The newest block that was read, of a source that reads a chain. */
  readonly block?: NonNullable<FeedReach['block']>
}

export interface ReachOptions {
  readonly database: Pick<Database, 'transaction'>
  readonly feed: string
  /** The line that its stored position is at: where another stands, something else has happened to the feed. */
  readonly line: () => number
  readonly nowSeconds: () => number
  /** Finds out whether the database still holds what was applied: a feed that is quiet brings no batch that would. */
  readonly check: () => Promise<void>
}

/** Writes how far a source has been read, apart from what it brings. */
export interface ReachRecorder {
  /** @throws {FeedMoved} where the database has lost what was applied */
  atEnd(end: SourceEnd): Promise<void>
  /** Ends when nothing is being written. */
  settled(): Promise<void>
}

export function recordReach({ database, feed, line, nowSeconds, check }: ReachOptions): ReachRecorder {
  let begunAt = -Infinity
  let writing: Promise<void> = Promise.resolve()
  return {
    async atEnd({ lookedAtMilliseconds, block }) {
      const now = performance.now()
      if (now - begunAt < pauseMilliseconds) return
      begunAt = now
      try {
        await check()
      } catch (error) {
        if (error instanceof FeedMoved) throw error
        // While the database is away nothing is known of how far it is; the next time comes.
        return
      }
      const seenAt = Math.floor(nowSeconds() - (now - lookedAtMilliseconds) / 1000)
      const reach = { readUntil: block?.timestamp ?? seenAt, block: block ?? null }
      writing = saveFeedReach(database, feed, line(), reach).catch(() => undefined)
    },
    settled: () => writing,
  }
}
