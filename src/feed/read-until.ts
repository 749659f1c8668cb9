import type { Database } from '../database/database.ts'
import { isOutage } from '../database/errors.ts'
import { type FeedReadUntil, saveReadUntil } from '../database/write/feed.ts'
import { CommitsLost } from './position/expected-state.ts'
import type { OutageObserver } from './retry.ts'

/** Interval at which the end of a source is recorded, so that a quiet feed is not reported as late. */
const pauseMilliseconds = 10_000

/** The end of a source: everything before it has been applied, except an incomplete last line. */
export interface SourceEnd {
  /** Time of the read that found the end, in milliseconds of performance.now(). */
  readonly lookedAtMilliseconds: number
  /** Whether the source ends with an incomplete line, which is not applied. */
  readonly isWithinLine?: boolean
  /** The newest block that was read, for a source that reads a chain. */
  readonly block?: NonNullable<FeedReadUntil['block']>
}

/** Options of {@link createReadUntilRecorder}. */
export interface ReadUntilOptions {
  readonly database: Pick<Database, 'transaction'>
  readonly feed: string
  /** Returns the line of the expected position: nothing is recorded where the stored line differs. */
  readonly line: () => number
  readonly nowSeconds: () => number
  /**
   * Verifies that the database still contains all applied facts, because a quiet feed has no batches that verify it.
   * @throws {CommitsLost} when commits are lost
   */
  readonly check: () => Promise<void>
  /** Called where an end cannot be recorded, unless in an outage, which the next batch reports; and when one is again. */
  readonly outageObserver?: Pick<OutageObserver, 'onWait' | 'onResume'> | undefined
}

/** Records how far a source has been read, independently of its facts. */
export interface ReadUntilRecorder {
  /**
   * Records the end of a source.
   * @throws {CommitsLost} when the database has lost applied facts
   */
  recordEnd(end: SourceEnd): Promise<void>
  /** Resolves when no write is in progress. */
  settled(): Promise<void>
}

/** Creates a recorder that writes at most every 10 seconds. */
export function createReadUntilRecorder({
  database,
  feed,
  line,
  nowSeconds,
  check,
  outageObserver,
}: ReadUntilOptions): ReadUntilRecorder {
  let [checkedAt, recordedAt] = [-Infinity, -Infinity]
  let writing: Promise<void> = Promise.resolve()
  let isWriting = false
  let hasFailed = false
  const failed = (error: unknown): void => {
    if (hasFailed || isOutage(error) || !(error instanceof Error)) return
    hasFailed = true
    outageObserver?.onWait(error)
  }
  const recorded = (): void => {
    if (hasFailed) outageObserver?.onResume()
    hasFailed = false
  }
  return {
    async recordEnd({ lookedAtMilliseconds, block, isWithinLine = false }) {
      const now = performance.now()
      // A producer that writes blocks leaves the end within a line most of the time: this does not delay the next whole line.
      if (now - (isWithinLine ? checkedAt : recordedAt) < pauseMilliseconds) return
      checkedAt = now
      if (!isWithinLine) recordedAt = now
      try {
        await check()
      } catch (error) {
        if (error instanceof CommitsLost) throw error
        // The position is unknown; the next call records it.
        return failed(error)
      }
      // Two writes that wait for the row may commit in any order.
      if (isWithinLine || isWriting) return
      const seenAt = Math.floor(nowSeconds() - (now - lookedAtMilliseconds) / 1000)
      const end = { readUntil: block?.timestamp ?? seenAt, block: block ?? null }
      isWriting = true
      writing = saveReadUntil(database, feed, line(), end)
        .then(recorded, failed)
        .finally(() => (isWriting = false))
    },
    settled: () => writing,
  }
}
