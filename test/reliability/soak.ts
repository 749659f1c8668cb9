import { appendFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '../../src/database/database.ts'
import { feedText } from '../support/feeds.ts'
import type { Homes } from '../support/home.ts'
import { apply } from '../support/world.ts'
import { waitUntilCaughtUp } from './catch-up.ts'
import { createClient } from './client.ts'
import { FeedHistory } from './feed-history.ts'
import { errorLogLines, type GatewayProcess, megabytes, type ResourceUsage, startGateway } from './gateway.ts'
import { growingWorld, writeGradually } from './growing-world.ts'
import { type ProgramResult, quantile, type ReportProgress } from './program-result.ts'
import { startReaders } from './readers.ts'
import { compareWithDatabase, readServedStates } from './served-states.ts'

const readers = 8
/** Number of measurements of memory. */
const usageCount = 30
/** Copies of the demo world per minute of the run, which makes a few facts per second. */
const copiesPerMinute = 2
/** Minimum duration for the memory check: in shorter runs, caches still fill and code is compiled. */
const minMinutesForMemoryCheck = 5
const maxGrowth = 1.1

/** Options of the program `soak`. */
interface SoakOptions {
  readonly homes: Homes
  readonly minutes: number
  readonly reportProgress: ReportProgress
}

/**
 * Sends requests of all kinds to a gateway that follows a feed, for a long time: checks each response and the growth of
 * memory, and afterwards compares REST, GraphQL and the database.
 */
export async function soak({ homes, minutes, reportProgress }: SoakOptions): Promise<ProgramResult> {
  const { catalogue, feeds } = growingWorld(Math.max(2, Math.ceil(copiesPerMinute * minutes)))
  const facts = feeds.flat().sort((a, b) => a.ts - b.ts)
  const home = await homes.create()
  await withDatabase(await home.open(), (database) => apply(database, catalogue))
  const feed = path.join(homes.folder, 'followed.ndjson')
  await writeFile(feed, '')
  const gateway = await startGateway(['--feed', feed], home.env)
  const history = new FeedHistory(facts)
  const readerRun = startReaders(gateway.port, history, readers, false)
  const writing = writeGradually(feedText(facts), minutes * 60, (part) => appendFile(feed, part))
  const usages = await measureMemory(gateway, minutes, reportProgress)
  await writing
  await readerRun.stop()
  const violations = [...readerRun.result.violations, ...(await waitUntilCaughtUp(gateway.port, history))]
  const client = createClient(gateway.port, readers)
  const served = await readServedStates(client, history.vaults)
  client.close()
  const outcome = await gateway.stop()
  violations.push(...errorLogLines(outcome).map((line) => `The gateway logged ${line}`))
  if (outcome.status !== 0) violations.push(`The gateway exited with status ${String(outcome.status)}`)
  violations.push(...(await withDatabase(await home.open(), (database) => compareWithDatabase(database, served))))
  const growth = compareQuarters(usages)
  if (minutes >= minMinutesForMemoryCheck) violations.push(...growth.violations)
  const measurements = {
    minutes,
    'facts applied during the load': facts.length,
    'correct responses': readerRun.result.responses.valid,
    'wrong responses': readerRun.result.violations.length,
    'slowest response, ms': Math.round(readerRun.result.slowestMilliseconds),
    ...growth.measurements,
    'vaults compared over REST, GraphQL and in the database': served.length,
  }
  return { measurements, violations }
}

/** Runs work on a database, then closes it. */
async function withDatabase<Result>(
  database: Database,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** Measures the memory of the gateway at equal intervals. */
async function measureMemory(
  gateway: GatewayProcess,
  minutes: number,
  reportProgress: ReportProgress,
): Promise<ResourceUsage[]> {
  const usages: ResourceUsage[] = []
  for (let at = 0; at < usageCount; at++) {
    await wait((minutes * 60_000) / usageCount)
    const usage = await gateway.read()
    usages.push(usage)
    reportProgress(`${(((at + 1) * minutes) / usageCount).toFixed(1)} minutes, ${megabytes(usage.heapBytes)} MB`)
  }
  return usages
}

/** Compares the median memory of the last quarter with that of the third. */
function compareQuarters(usages: readonly ResourceUsage[]): {
  measurements: Record<string, string>
  violations: string[]
} {
  const quarter = Math.floor(usages.length / 4)
  const kinds = { heap: 'heapBytes', process: 'rssBytes' } as const
  const medians = Object.entries(kinds).map(([kind, key]) => {
    const bytes = usages.map((usage) => usage[key])
    const [third, last] = [bytes.slice(-2 * quarter, -quarter), bytes.slice(-quarter)]
    return { kind, third: quantile(third, 0.5), last: quantile(last, 0.5) }
  })
  return {
    measurements: Object.fromEntries(
      medians.map(({ kind, third, last }) => [
        `${kind} in the third and last quarter, MB`,
        `${megabytes(third)}, ${megabytes(last)}`,
      ]),
    ),
    violations: medians.flatMap(({ kind, third, last }) =>
      last > maxGrowth * third ? [`The ${kind} grew from ${megabytes(third)} to ${megabytes(last)} MB`] : [],
    ),
  }
}
