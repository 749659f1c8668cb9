import { ChainDiverged } from '../chain/errors.ts'
import { BadFact } from '../feed/errors.ts'

/** How the feeds are that this gateway follows, as all of its processes know: by the names of their positions. */
export interface FeedConditions {
  /** Why the gateway is not ready on their account, in words for everybody; null where it is. */
  readonly reason: string | null
  /** Those that were stopped. */
  readonly stopped: readonly string[]
  /** Those that wait for their database, for room on a disk, or for their file. */
  readonly waiting: readonly string[]
}

export const noFeedTrouble: FeedConditions = { reason: null, stopped: [], waiting: [] }

/** Is told how feeds fare, and tells what has become of them. */
export interface FeedMonitor {
  readonly conditions: () => FeedConditions
  /** Is told what ended a feed before its time; it stays so until the gateway is started anew. */
  feedStopped(feed: string, error: unknown): void
  /** Is told that a feed waits for its database or for room on a disk, and that it doesn't any more. */
  feedWaits(feed: string, isWaiting: boolean): void
  /** Is told that a feed's file is missing and waited for, and that it is there again. */
  fileMissing(feed: string, isMissing: boolean): void
}

const waitsForFile = 'The feed waits for its file, which is missing.'

/** @param onChange is told of each change */
export function monitorFeeds(onChange: (conditions: FeedConditions) => void = () => undefined): FeedMonitor {
  const stopped = new Map<string, string>()
  const waiting = new Set<string>()
  const missing = new Set<string>()
  const conditions = (): FeedConditions => {
    const [reason = missing.size > 0 ? waitsForFile : null] = stopped.values()
    return { reason, stopped: [...stopped.keys()], waiting: [...new Set([...waiting, ...missing])] }
  }
  const setIn = (feeds: Set<string>, feed: string, isIn: boolean): void => {
    if (isIn) feeds.add(feed)
    else feeds.delete(feed)
    onChange(conditions())
  }
  return {
    conditions,
    feedStopped(feed, error) {
      stopped.set(feed, reasonOf(error))
      waiting.delete(feed)
      missing.delete(feed)
      onChange(conditions())
    },
    feedWaits: (feed, isWaiting) => setIn(waiting, feed, isWaiting),
    fileMissing: (feed, isMissing) => setIn(missing, feed, isMissing),
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof BadFact) return `The feed is stopped by a bad fact in ${error.finding}`
  if (error instanceof ChainDiverged) return `The feed is stopped. ${error.message}.`
  return 'The feed is stopped; the log says why.'
}
