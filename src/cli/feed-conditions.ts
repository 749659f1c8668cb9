import { ChainDiverged } from '../chain/errors.ts'
import type { SetAsideVault } from '../chain/vault-groups/set-aside.ts'
import { DatabaseRefused } from '../database/errors.ts'
import { BadFact } from '../feed/errors.ts'
import type { PathWatcher } from '../feed/reading/growing-file.ts'
import type { FeedProblems } from '../graphql/execution/context.ts'
import type { Log } from './log.ts'

/**
 * State of the followed feeds, shared by all processes of the gateway. Feeds are identified by the names of their
 * positions.
 */
export interface FeedConditions extends FeedProblems {
  /** Why the gateway is not ready because of a feed, without details for untrusted clients; null where it is ready. */
  readonly reason: string | null
  /** Vaults of chains that are set aside while the other vaults are read. */
  readonly setAside: readonly SetAsideVault[]
}

/** State without problems. */
export const noFeedProblems: FeedConditions = { reason: null, stopped: [], waiting: [], setAside: [] }

/** Collects the state of feeds. */
export interface FeedMonitor {
  readonly conditions: () => FeedConditions
  /** Records the error that ended a feed; it applies until the gateway restarts. */
  feedStopped(feed: string, error: unknown): void
  /** Records why a feed waits for the database, disk space or the machine's clock; null when it goes on. */
  feedWaits(feed: string, reason: Error | null): void
  /** Records whether a feed's file is missing. */
  fileMissing(feed: string, isMissing: boolean): void
  /** Records a lasting problem of a chain's nodes; null when the problem has ended. */
  readonly chainFails: (feed: string, problem: string | null) => void
  /** Records all vaults of a chain that are set aside. */
  readonly vaultsSetAside: (feed: string, vaults: readonly SetAsideVault[]) => void
}

const waitsForFile = 'The feed waits for its file, which is missing.'
const waitsForOperator = 'The feed waits, since the database refuses its statements; the log says why.'

/**
 * Creates a monitor of feeds.
 * @param onChange called after each change
 */
export function monitorFeeds(onChange: (conditions: FeedConditions) => void = () => undefined): FeedMonitor {
  const stopped = new Map<string, string>()
  const waiting = new Set<string>()
  const refused = new Set<string>()
  const missing = new Set<string>()
  const failing = new Map<string, string>()
  const aside = new Map<string, readonly SetAsideVault[]>()
  const conditions = (): FeedConditions => {
    const known = [...stopped.values(), ...failing.values(), ...(refused.size > 0 ? [waitsForOperator] : [])]
    const [reason = missing.size > 0 ? waitsForFile : null] = known
    return {
      reason,
      stopped: [...stopped.keys()],
      waiting: [...new Set([...waiting, ...missing, ...failing.keys()])],
      setAside: [...aside.values()].flat(),
    }
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
      refused.delete(feed)
      missing.delete(feed)
      failing.delete(feed)
      onChange(conditions())
    },
    feedWaits(feed, reason) {
      if (reason instanceof DatabaseRefused) refused.add(feed)
      else refused.delete(feed)
      setIn(waiting, feed, reason !== null)
    },
    fileMissing: (feed, isMissing) => setIn(missing, feed, isMissing),
    chainFails(feed, problem) {
      if (problem === null) failing.delete(feed)
      else failing.set(feed, `The feed waits, since its chain can't be read: ${problem}. The log says what to do.`)
      onChange(conditions())
    },
    vaultsSetAside(feed, vaults) {
      if (vaults.length === 0 && !aside.has(feed)) return
      aside.set(feed, vaults)
      onChange(conditions())
    },
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof BadFact) return `The feed is stopped by a bad fact in ${error.messageWithoutFeed}`
  if (error instanceof ChainDiverged) return `The feed is stopped. ${error.message}.`
  return 'The feed is stopped; the log says why.'
}

/** Creates a watcher of a followed file's path, which logs changes and reports them to the monitor. */
export function pathWatcher(name: string, log: Log, monitor: FeedMonitor): PathWatcher {
  return {
    onMissing(reason) {
      monitor.fileMissing(name, true)
      log.warn(`The feed's file is missing, and is waited for: ${reason}`)
    },
    onFound() {
      monitor.fileMissing(name, false)
      log.info("The feed's file is there again")
    },
    onOtherFile({ line }) {
      log.warn(
        `${name} does not hold what was applied to its line ${line}: it was changed in place, or it is another file and no ` +
          'file beside it holds that. It is read from its beginning, behind files beside it that have a number or a date in ' +
          'their name, and what is known is skipped. If the other file was rotated elsewhere, its last lines are not ' +
          'applied: npm run ingest applies them, unless facts of their vaults that are newer come first',
      )
    },
    onRotated(files) {
      log.info(`${name} was rotated. What is not applied of ${files.join(', ')} is read first`)
    },
    onLeft(file) {
      log.warn(
        `${file} is still written to, though two files have taken its place: its lines from now on are not applied. End the ` +
          'process that writes to it; npm run ingest applies them, unless facts of their vaults that are newer come first',
      )
    },
    onChangedInPlace() {
      log.warn(
        `${name} was changed in place, before the line that was read last. It is read from its beginning, and what is known ` +
          'is skipped',
      )
    },
    onLateLines() {
      log.warn(
        `The file that stood at ${name} before was written to after the file that took its place. The rest of it is read, ` +
          'and the newer file again: what is known is skipped',
      )
    },
    onGzipEnd() {
      log.info(`${name}, a gzipped file, is read to its end. A file that takes its place is read on`)
    },
  }
}
