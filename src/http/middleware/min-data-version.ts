import { LRUCache } from 'lru-cache'
import { type VersionLimits, versionLimits } from '../../limits.ts'
import { problem, retryLater } from '../../rest/problem.ts'
import type { OnLeave } from '../cache/response-cache.ts'
import type { DataVersions, ParsedVersion } from '../cache/data-versions.ts'
import type { Answer } from '../../rest/problem.ts'
import type { Middleware } from '../middleware.ts'
import { refuse } from '../refuse.ts'

export const minDataVersionHeader = 'min-data-version'

/** The version that the log has under a number; null where it has none. It fails where the database doesn't answer. */
export type VersionAt = (seq: number) => Promise<string | null>

/**
 * Waits until the data is at least of a version.
 * @returns the refusal where it isn't in time, or can't be; null where it is
 */
export type AwaitVersion = (wanted: string, onLeave: OnLeave) => Promise<Answer | null>

export function versionWaiter(
  versions: DataVersions,
  versionAt: VersionAt,
  bounds: VersionLimits = versionLimits,
): AwaitVersion {
  const history = historyOf(versions, versionAt, bounds)
  let waiting = 0

  async function wait(wanted: ParsedVersion, onLeave: OnLeave): Promise<void> {
    waiting++
    await reached(versions, wanted, bounds.waitMilliseconds, onLeave)
    waiting--
  }

  return async (text, onLeave) => {
    const wanted = parsed(text)
    if (wanted === null) return problem('BAD_DATA_VERSION', 'Send a version as the header Data-Version told it.')
    if (!versions.hasReached(wanted) && waiting >= bounds.waiting) {
      return retryLater('DATA_NOT_THERE_YET', `More than ${bounds.waiting} requests wait for later data.`)
    }
    if (!versions.hasReached(wanted)) await wait(wanted, onLeave)
    if (!versions.hasReached(wanted)) return notThereYet(wanted, bounds)
    const told = await history(wanted.seq)
    if (told instanceof Refusal) return told.answer
    // What was heard of may be gone by now.
    if (!versions.hasReached(wanted)) return notThereYet(wanted, bounds)
    return told === wanted.text
      ? null
      : problem('HISTORY_CHANGED', `Version ${wanted.text} is none of the data's history: read anew what is held.`)
  }
}

function notThereYet({ text }: ParsedVersion, { waitMilliseconds }: VersionLimits): Answer {
  return retryLater('DATA_NOT_THERE_YET', `Version ${text} was not heard of within ${waitMilliseconds / 1000} s.`)
}

/** Numbers above what JavaScript holds exactly are none that a log comes to. */
function parsed(text: string): ParsedVersion | null {
  const [, seq] = /^([1-9]\d{0,14})\.\d{1,19}$/.exec(text) ?? []
  return seq === undefined ? null : { seq: Number(seq), text }
}

/** Ends when it is reached, or the time is over, or nobody waits any more. */
function reached(versions: DataVersions, wanted: ParsedVersion, milliseconds: number, onLeave: OnLeave): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      stop()
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    const stop = versions.onChange(() => {
      if (versions.hasReached(wanted)) end()
    })
    onLeave(end)
  })
}

class Refusal {
  constructor(readonly answer: Answer) {}
}

/** What versions the history has: of the newest from memory, of older ones as the log says, by a few reads at once. */
function historyOf(
  versions: DataVersions,
  versionAt: VersionAt,
  bounds: VersionLimits,
): (seq: number) => string | undefined | Promise<string | null | Refusal> {
  const asked = new LRUCache<number, Promise<string | null | Refusal>>({ max: bounds.known })
  let running = 0
  versions.onChange(() => {
    if (!versions.isListening) asked.clear()
  })

  async function ask(seq: number): Promise<string | null | Refusal> {
    running++
    try {
      return await versionAt(seq)
    } catch {
      asked.delete(seq)
      return new Refusal(retryLater('DATABASE_UNAVAILABLE', 'The database does not answer now. Ask again later.'))
    } finally {
      running--
    }
  }

  return (seq) => {
    const known = versions.known(seq) ?? asked.get(seq)
    if (known !== undefined) return known
    if (running >= bounds.lookups) {
      return Promise.resolve(new Refusal(retryLater('DATA_NOT_THERE_YET', 'Too many ask for old versions at once.')))
    }
    const answer = ask(seq)
    asked.set(seq, answer)
    return answer
  }
}

/** Delays requests that demand a data version until it is there, and refuses those for which it does not come in time. */
export function minDataVersion(awaitVersion: AwaitVersion): Middleware {
  return (exchange, next) => {
    const { request, onLeave } = exchange
    const wanted = request.header(minDataVersionHeader)
    if (wanted === null || request.method === 'OPTIONS') return next(exchange)
    return awaitVersion(wanted, onLeave).then((problem) =>
      problem === null ? next(exchange) : refuse(request, problem),
    )
  }
}
