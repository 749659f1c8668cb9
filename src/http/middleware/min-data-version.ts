import { LRUCache } from 'lru-cache'
import { type VersionLimits, versionLimits } from '../../limits.ts'
import { problem, retryLater } from '../../rest/problem.ts'
import { FailureReport } from '../async/failure-report.ts'
import type { Turns } from '../async/turns.ts'
import { Budget } from '../server/capacity/budget.ts'
import type { OnDisconnect } from '../cache/productions.ts'
import type { DataVersions, ParsedVersion } from '../cache/data-versions.ts'
import type { TextResponse } from '../../rest/problem.ts'
import type { Middleware } from '../middleware.ts'
import { refuse } from '../refuse.ts'

/** Name of the header; also the request id of logged lookup errors, because requests share lookups. */
export const minDataVersionHeader = 'min-data-version'

/**
 * Returns the version with a sequence number in the commit log; null if there is none. Rejects if the database does not
 * respond.
 */
export type VersionAt = (seq: number) => Promise<string | null>

/**
 * Waits until the data has reached a version.
 * @param sender of the request: one sender may use a fair share of the waiting slots, and of the lookups
 * @returns the refusal if the version is not reached in time or cannot be; null if it is reached
 */
export type AwaitVersion = (wanted: string, sender: string, onDisconnect: OnDisconnect) => Promise<TextResponse | null>

/**
 * Creates a function that waits for data versions, with limits on waiting requests and on lookups.
 * @param report reports an unexpected error of a lookup, once until one succeeds
 * @param turns of requests that go on at the same commit
 */
export function versionWaiter(
  versions: DataVersions,
  versionAt: VersionAt,
  report: (error: unknown) => void,
  turns: Turns,
  limits: VersionLimits = versionLimits,
): AwaitVersion {
  const failures = new FailureReport(report)
  const history = historyOf(versions, (seq) => failures.of(versionAt(seq)), limits)
  const places = new Budget(limits.waiting)

  /** Waits for a version that this process was not yet notified of. */
  async function wait(wanted: ParsedVersion, sender: string, onDisconnect: OnDisconnect): Promise<TextResponse | null> {
    const askedAt = performance.now()
    if (isOutOfReach(versions, wanted, limits)) {
      // Since a proof that is no older than the waiting time, fewer commits have come.
      if (versions.hasLost(wanted, askedAt - limits.waitMilliseconds)) return historyChanged(wanted)
      const detail = `Version ${wanted.text} is more than ${limits.ahead} commits beyond the newest known version.`
      return retryLater('DATA_NOT_THERE_YET', detail)
    }
    if (!places.take(sender, 1))
      return retryLater('DATA_NOT_THERE_YET', 'Too many requests are waiting for newer data.')
    const isReached = (): boolean => versions.hasReached(wanted)
    await versions.waitUntil(isReached, limits.waitMilliseconds, onDisconnect)
    await turns.next(sender).finally(() => places.giveBack(sender, 1))
    if (isReached()) return null
    return versions.hasLost(wanted, askedAt) ? historyChanged(wanted) : notThereYet(wanted, limits)
  }

  return async (text, sender, onDisconnect) => {
    const wanted = parsed(text)
    if (wanted === null) return problem('BAD_DATA_VERSION', 'Send the value of a Data-Version header.')
    const refusal = versions.hasReached(wanted) ? null : await wait(wanted, sender, onDisconnect)
    if (refusal !== null) return refusal
    const found = await history(wanted.seq, sender)
    if (found instanceof Refusal) return found.response
    // The connection of the listener may have been lost during the lookup.
    if (!versions.hasReached(wanted)) return notThereYet(wanted, limits)
    return found === wanted.text ? null : historyChanged(wanted)
  }
}

/**
 * Returns whether a version cannot be reached within the waiting time: a client learns of a version only after its
 * commit, and the listener does not lag behind by so many commits. Without any notification, every version may be
 * reached.
 */
function isOutOfReach({ newestSeq }: DataVersions, { seq }: ParsedVersion, { ahead }: VersionLimits): boolean {
  return newestSeq !== null && seq > newestSeq + ahead
}

function notThereYet({ text }: ParsedVersion, { waitMilliseconds }: VersionLimits): TextResponse {
  return retryLater('DATA_NOT_THERE_YET', `Version ${text} was not reached within ${waitMilliseconds / 1000} s.`)
}

function historyChanged({ text }: ParsedVersion): TextResponse {
  const detail = `Version ${text} is not part of the current history: discard cached data and read again.`
  return problem('HISTORY_CHANGED', detail)
}

/** Parses a version; the digits are limited, because sequence numbers must be safe integers. */
function parsed(text: string): ParsedVersion | null {
  const [, seq] = /^([1-9]\d{0,14})\.\d{1,19}$/.exec(text) ?? []
  return seq === undefined ? null : { seq: Number(seq), text }
}

class Refusal {
  constructor(readonly response: TextResponse) {}
}

/**
 * Returns a lookup of the versions in the history: recent ones are in memory, older ones are read from the commit log,
 * with limited concurrency.
 */
function historyOf(
  versions: DataVersions,
  versionAt: VersionAt,
  limits: VersionLimits,
): (seq: number, sender: string) => string | Promise<string | null | Refusal> {
  const asked = new LRUCache<number, Promise<string | null | Refusal>>({ max: limits.known })
  const lookups = new Budget(limits.lookups)
  versions.onChange(() => {
    if (!versions.isListening) asked.clear()
  })

  async function ask(seq: number, sender: string): Promise<string | null | Refusal> {
    try {
      return await versionAt(seq)
    } catch {
      asked.delete(seq)
      return new Refusal(retryLater('DATABASE_UNAVAILABLE', 'The database does not answer now. Try again later.'))
    } finally {
      lookups.giveBack(sender, 1)
    }
  }

  return (seq, sender) => {
    const known = versions.known(seq) ?? asked.get(seq)
    if (known !== undefined) return known
    if (!lookups.take(sender, 1)) {
      return Promise.resolve(
        new Refusal(retryLater('DATA_NOT_THERE_YET', 'Too many requests for old versions at once.')),
      )
    }
    const lookup = ask(seq, sender)
    asked.set(seq, lookup)
    return lookup
  }
}

/** Delays requests that require a data version until it is reached, and refuses them after a time limit. */
export function minDataVersion(awaitVersion: AwaitVersion): Middleware {
  return (next) => (exchange) => {
    const { request, sender, onDisconnect } = exchange
    const wanted = request.header(minDataVersionHeader)
    if (wanted === null || request.method === 'OPTIONS') return next(exchange)
    return awaitVersion(wanted, sender, onDisconnect).then((problem) =>
      problem === null ? next(exchange) : refuse(request, problem),
    )
  }
}
