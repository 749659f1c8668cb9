import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import { missingMigrations } from '../database/prisma/migrations.ts'
import { probeMilliseconds } from '../limits.ts'
import type { DataVersions } from '../http/cache/data-versions.ts'
import type { DataAge, Readiness } from '../http/ops/health.ts'
import { memoizeBriefly } from '../http/async/memoize-briefly.ts'
import { type FeedConditions, noFeedTrouble } from './feed-conditions.ts'

export interface ReadinessOptions {
  /** The database has to answer: less than the second that Kubernetes gives a probe. */
  readonly milliseconds?: number
  /** How long the database's answer stands. */
  readonly restMilliseconds?: number
  readonly conditions?: () => FeedConditions
  /** What is known of the data; without it, its age isn't told. */
  readonly data?: DataVersions
}

/** Whether the gateway can serve: its database answers, with all migrations, none of its feeds was stopped, and none waits for a missing file. */
export function createReadiness(database: Database, options: ReadinessOptions = {}): Readiness {
  const { milliseconds = 800, restMilliseconds = probeMilliseconds, conditions = () => noFeedTrouble, data } = options
  // Anybody may ask, as often as they like.
  const askDatabase = memoizeBriefly(
    () => withinTime(reasonOf(database, AbortSignal.timeout(2 * milliseconds)), milliseconds),
    restMilliseconds,
  )
  return {
    async reason() {
      return (await askDatabase()) ?? conditions().reason
    },

    ...(data && { age: () => ageOf(data, conditions()) }),
  }
}

/** Why the data grows old is said beside its age: who is asked while the database is away says so itself. */
function ageOf(data: DataVersions, { stopped, waiting }: FeedConditions): DataAge {
  const { ageSeconds, newestTs } = data.now()
  return {
    dataAgeSeconds: ageSeconds,
    newestFactAgeSeconds: newestTs === null ? null : Math.max(0, Math.floor(Date.now() / 1000) - newestTs),
    causes: [
      ...(data.isListening ? [] : ['commits are not heard of']),
      ...(waiting.length > 0 ? ['a feed waits'] : []),
      ...(stopped.length > 0 ? ['a feed is stopped'] : []),
    ],
  }
}

async function reasonOf(database: Database, signal: AbortSignal): Promise<string | null> {
  try {
    const missing = await missingMigrations(database, signal)
    return missing.length === 0 ? null : `The database lacks ${missing.length} of the migrations.`
  } catch {
    return 'The database is not reachable.'
  }
}

async function withinTime(reason: Promise<string | null>, milliseconds: number): Promise<string | null> {
  const answered = new AbortController()
  const late = wait(milliseconds, `The database did not answer within ${milliseconds} ms.`, {
    signal: answered.signal,
  }).catch(() => null)
  const first = await Promise.race([reason, late])
  answered.abort()
  return first
}
