import { setTimeout as wait } from 'node:timers/promises'
import { ChainDiverged } from '../chain/errors.ts'
import type { Database } from '../database/database.ts'
import { missingMigrations } from '../database/migrations.ts'
import { BadFact } from '../feed/errors.ts'
import type { Readiness } from '../http/health.ts'

export interface GatewayReadiness extends Readiness {
  /** Is told what ended the feed before its time; it stays not ready until it is started anew. */
  feedStopped(error: unknown): void
  /** Why the feed is stopped; null where it isn't. */
  readonly feedReason: () => string | null
}

/**
 * Whether the gateway can serve: its database answers, with all migrations, and its feed wasn't stopped.
 * @param milliseconds the database has to answer: less than the second that Kubernetes gives a probe
 */
export function createReadiness(database: Database, milliseconds = 800): GatewayReadiness {
  let ofFeed: string | null = null
  let asked: Promise<string | null> | undefined
  return {
    feedStopped(error) {
      ofFeed = stopOf(error)
    },

    feedReason: () => ofFeed,

    // Anybody may ask, as often as they like: the database is asked by one at a time, for all who wait.
    async reason() {
      asked ??= withinTime(reasonOf(database), milliseconds).finally(() => (asked = undefined))
      return (await asked) ?? ofFeed
    },
  }
}

function stopOf(error: unknown): string {
  if (error instanceof BadFact) return `The feed is stopped by a bad fact in ${error.finding}`
  if (error instanceof ChainDiverged) return `The feed is stopped. ${error.message}.`
  return 'The feed is stopped; the log says why.'
}

async function reasonOf(database: Database): Promise<string | null> {
  try {
    const missing = await missingMigrations(database)
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
