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
import { errorLogLines, type GatewayProcess, type ResourceUsage, startGateway } from './gateway.ts'
import { growingWorld, writeGradually } from './growing-world.ts'
import { type ProgramResult, quantile, type ReportProgress } from './program-result.ts'
import { startReaders } from './readers.ts'
import { compareWithDatabase, readServedStates } from './served-states.ts'

const readers = 8
const usageCount = 30
/** Facts a second, more or less: those of some hundred vaults that are marked every few seconds. */
const copiesPerMinute = 2
/** Memory is judged by the second half: in the first one caches fill and code is compiled. */
const minMinutesForMemoryCheck = 5
const maxGrowth = 1.1

interface SoakOptions {
  readonly homes: Homes
  readonly minutes: number
  readonly reportProgress: ReportProgress
}

/**
 * Asks a gateway for a long time for everything, while it follows a feed: what it holds stays the same, and afterwards
 * REST, GraphQL and the database agree.
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
  if (outcome.status !== 0) violations.push(`The gateway ended with ${String(outcome.status)}`)
  violations.push(...(await withDatabase(await home.open(), (database) => compareWithDatabase(database, served))))
  const growth = compareQuarters(usages)
  if (minutes >= minMinutesForMemoryCheck) violations.push(...growth.violations)
  const measurements = {
    minutes,
    'facts applied meanwhile': facts.length,
    'answers, all of the feed': readerRun.result.answers.valid,
    'wrong answers': readerRun.result.violations.length,
    'slowest answer, ms': Math.round(readerRun.result.slowestMilliseconds),
    ...growth.measurements,
    'vaults on which REST, GraphQL and the database agree': served.length,
  }
  return { measurements, violations }
}

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

/** Memory of the gateway, at equal intervals. */
async function measureMemory(
  gateway: GatewayProcess,
  minutes: number,
  reportProgress: ReportProgress,
): Promise<ResourceUsage[]> {
  const usages: ResourceUsage[] = []
  for (let at = 0; at < usageCount; at++) {
    await wait((minutes * 60_000) / usageCount)
    const readerRun = await gateway.read()
    usages.push(readerRun)
    reportProgress(`${(((at + 1) * minutes) / usageCount).toFixed(1)} minutes, ${megabytes(readerRun.heapBytes)} MB`)
  }
  return usages
}

/** The third quarter against the last one. */
function compareQuarters(usages: readonly ResourceUsage[]): {
  measurements: Record<string, string>
  violations: string[]
} {
  const quarter = Math.floor(usages.length / 4)
  const kinds = { heap: 'heapBytes', process: 'rssBytes' } as const
  const medians = Object.entries(kinds).map(([kind, key]) => {
    const bytes = usages.map((readerRun) => readerRun[key])
    const [third, last] = [bytes.slice(-2 * quarter, -quarter), bytes.slice(-quarter)]
    return { kind, third: quantile(third, 0.5), last: quantile(last, 0.5) }
  })
  return {
    measurements: Object.fromEntries(
      medians.map(({ kind, third, last }) => [
        `${kind} in the third quarter and in the last, MB`,
        `${megabytes(third)}, ${megabytes(last)}`,
      ]),
    ),
    violations: medians.flatMap(({ kind, third, last }) =>
      last > maxGrowth * third ? [`The ${kind} grew from ${megabytes(third)} to ${megabytes(last)} MB`] : [],
    ),
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}
