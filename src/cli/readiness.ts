import type { Database } from '../database/database.ts'
import { unreadableTables } from '../database/permissions.ts'
import { missingMigrations } from '../database/prisma/migrations.ts'
import { probeMilliseconds } from '../limits.ts'
import type { DataVersions } from '../http/cache/data-versions.ts'
import type { DataAge, Readiness } from '../http/ops/health.ts'
import { memoizeBriefly } from '../http/async/memoize-briefly.ts'
import { resultWithin } from '../database/cancellation.ts'
import { type FeedConditions, noFeedProblems } from './feed-conditions.ts'

/** Options of {@link createReadiness}. */
export interface ReadinessOptions {
  /** Timeout of the database, below the default probe timeout of 1 s in Kubernetes. */
  readonly milliseconds?: number
  /** How long the result is reused. */
  readonly restMilliseconds?: number
  readonly conditions?: () => FeedConditions
  /** Versions of the data; without it their age is not reported. */
  readonly versions?: DataVersions
}

/**
 * Creates the readiness check: the database answers, has all migrations and may be read, a replica's data is new enough, no feed
 * ended with an error, and no feed waits for its file or its chain.
 */
export function createReadiness(database: Database, options: ReadinessOptions = {}): Readiness {
  const {
    milliseconds = 800,
    restMilliseconds = probeMilliseconds,
    conditions = () => noFeedProblems,
    versions,
  } = options
  // Untrusted clients may request it at any rate.
  const askDatabase = memoizeBriefly(
    () => reasonInTime(reasonOf(database, AbortSignal.timeout(2 * milliseconds)), milliseconds),
    restMilliseconds,
  )
  return {
    async reason() {
      return (await askDatabase()) ?? conditions().reason
    },
    degradations: () => conditions().setAside.map(({ reason }) => `A vault is set aside: ${reason}.`),

    ...(versions && { age: () => ageOf(versions, conditions(), database.readServer?.().causes) }),
  }
}

/** Returns the age of the data with its causes, except a database outage, which the readiness check reports. */
function ageOf(
  versions: DataVersions,
  { stopped, waiting }: FeedConditions,
  causesOfReplica: readonly string[] = [],
): DataAge {
  const { ageSeconds, newestTs } = versions.currentState()
  return {
    dataAgeSeconds: ageSeconds,
    newestFactAgeSeconds: newestTs === null ? null : Math.max(0, Math.floor(Date.now() / 1000) - newestTs),
    causes: [
      ...(versions.isListening ? [] : ['commits are not received']),
      ...causesOfReplica,
      ...(waiting.length > 0 ? ['a feed waits'] : []),
      ...(stopped.length > 0 ? ['a feed is stopped'] : []),
    ],
  }
}

async function reasonOf(database: Database, signal: AbortSignal): Promise<string | null> {
  const problem = database.readServer?.().problem ?? null
  if (problem !== null) return problem
  try {
    const missing = await missingMigrations(database, signal)
    if (missing.length > 0) return `The database lacks ${missing.length} of the migrations.`
    const unreadable = await unreadableTables(database, signal)
    return unreadable.length === 0 ? null : `The role of the database may not read ${unreadable.length} of its tables.`
  } catch {
    return 'The database is not reachable.'
  }
}

/** Returns the reason why the database is not ready, also where it takes longer to answer; null where it is. */
async function reasonInTime(reason: Promise<string | null>, milliseconds: number): Promise<string | null> {
  const answer = await resultWithin(
    milliseconds,
    reason.then((text) => ({ text })),
  )
  return answer === null ? `The database did not answer within ${milliseconds} ms.` : answer.text
}
