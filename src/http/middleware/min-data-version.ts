import { type DataVersion, parseDataVersion } from '../../domain/identity/data-version.ts'
import { type VersionLimits, versionLimits } from '../../limits.ts'
import { Problem, retryLater } from '../../rest/problem.ts'
import { FailureReport } from '../async/failure-report.ts'
import type { Turns } from '../async/turns.ts'
import { Budget } from '../../fairness/budget.ts'
import type { OnDisconnect } from '../cache/productions.ts'
import type { DataVersions, VersionAt } from '../cache/data-versions.ts'
import type { Middleware } from '../middleware.ts'
import { refuse } from '../refuse.ts'
import { type FoundVersion, TurnMissed, VersionLookups } from './version-lookups.ts'

/** Name of the header; also the request id of logged errors of look-ups, because requests share them. */
export const minDataVersionHeader = 'min-data-version'

/**
 * Waits until the data has reached a version.
 * @param sender of the request: one sender may use a fair share of the places to wait
 * @returns the refusal if the version is not reached in time or cannot be; null if it is reached
 */
export type AwaitVersion = (wanted: string, sender: string, onDisconnect: OnDisconnect) => Promise<Problem | null>

/**
 * Creates a function that waits for data versions, with limits on waiting requests and on reads of the commit log.
 * @param report reports an unexpected error of a lookup, once until one succeeds
 * @param turns of requests that go on at the same commit
 */
export function createAwaitVersion(
  versions: DataVersions,
  versionAt: VersionAt,
  report: (error: unknown) => void,
  turns: Turns,
  limits: VersionLimits = versionLimits,
): AwaitVersion {
  const failures = new FailureReport(report)
  const lookups = new VersionLookups(versions, (seq) => failures.of(versionAt(seq)), limits)
  const places = new Budget(limits.waiting)

  /** Waits for a version that this process was not yet notified of. */
  async function wait(wanted: DataVersion, sender: string, onDisconnect: OnDisconnect): Promise<Problem | null> {
    const requestedAt = performance.now()
    if (isOutOfReach(versions, wanted, limits)) {
      // Since a proof that is no older than the waiting time, fewer commits have come.
      if (versions.hasLost(wanted, requestedAt - limits.waitMilliseconds)) return historyChanged(wanted)
      const detail = `Version ${wanted.text} is more than ${limits.ahead} commits beyond the newest known version.`
      return retryLater('DATA_NOT_THERE_YET', detail)
    }
    if (!places.take(sender, 1)) return tooManyWait()
    const isReached = (): boolean => versions.hasReached(wanted)
    await versions.waitUntil(isReached, limits.waitMilliseconds, onDisconnect)
    await turns.next(sender).finally(() => places.giveBack(sender, 1))
    if (isReached()) return null
    return versions.hasLost(wanted, requestedAt) ? historyChanged(wanted) : notThereYet(wanted, limits)
  }

  /** Returns what the history has with the same sequence number, or a refusal. */
  async function lookUp(
    { seq }: DataVersion,
    sender: string,
    onDisconnect: OnDisconnect,
  ): Promise<FoundVersion | Problem> {
    const known = lookups.known(seq)
    if (known !== undefined && 'version' in known) return known
    if (!places.take(sender, 1)) return tooManyWait()
    try {
      return await (known ?? lookups.read(seq, sender, onDisconnect))
    } catch (error) {
      if (error instanceof TurnMissed) return retryLater('DATA_NOT_THERE_YET', error.message)
      return retryLater('DATABASE_UNAVAILABLE', 'The database does not answer now. Try again later.')
    } finally {
      places.giveBack(sender, 1)
    }
  }

  return async (text, sender, onDisconnect) => {
    const wanted = parseDataVersion(text)
    if (wanted === null) return new Problem('BAD_DATA_VERSION', 'Send the value of a Data-Version header.')
    const refusal = versions.hasReached(wanted) ? null : await wait(wanted, sender, onDisconnect)
    if (refusal !== null) return refusal
    const found = await lookUp(wanted, sender, onDisconnect)
    if (!('version' in found)) return found
    // The connection of the listener may have been lost during the lookup.
    if (!versions.hasReached(wanted)) return notThereYet(wanted, limits)
    return found.version === wanted.text ? null : historyChanged(wanted)
  }
}

/**
 * Returns whether a version cannot be reached within the waiting time: a client learns of a version only after its
 * commit, and the listener does not lag behind by so many commits. Without any notification, every version may be
 * reached.
 */
function isOutOfReach({ newestSeq }: DataVersions, { seq }: DataVersion, { ahead }: VersionLimits): boolean {
  return newestSeq !== null && seq > newestSeq + ahead
}

function notThereYet({ text }: DataVersion, { waitMilliseconds }: VersionLimits): Problem {
  return retryLater('DATA_NOT_THERE_YET', `Version ${text} was not reached within ${waitMilliseconds / 1000} s.`)
}

function tooManyWait(): Problem {
  return retryLater('DATA_NOT_THERE_YET', 'Too many requests are waiting for data versions.')
}

function historyChanged({ text }: DataVersion): Problem {
  const detail = `Version ${text} is not part of the current history: discard cached data and read again.`
  return new Problem('HISTORY_CHANGED', detail)
}

/** Returns the stage that delays requests with Min-Data-Version until the version is reached, or refuses them after a time. */
export function minDataVersion(awaitVersion: AwaitVersion): Middleware {
  return (next) => (exchange) => {
    const { request, sender, onDisconnect } = exchange
    const wanted = request.header(minDataVersionHeader)
    if (wanted === null || request.method === 'OPTIONS') return next(exchange)
    return awaitVersion(wanted, sender, onDisconnect).then((refusal) =>
      refusal === null ? next(exchange) : refuse(request, refusal),
    )
  }
}
