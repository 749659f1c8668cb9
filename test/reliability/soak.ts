import { appendFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '../../src/database/database.ts'
import { feedText } from '../support/feeds.ts'
import type { Homes } from '../support/home.ts'
import { apply } from '../support/world.ts'
import { agreement, servedStates } from './agreement.ts'
import { isCaughtUp } from './caught-up.ts'
import { clientOf } from './client.ts'
import { failuresIn, type GatewayProcess, type Reading, startGateway } from './gateway.ts'
import { growingWorld, pour } from './growing.ts'
import { History } from './history.ts'
import { startReaders } from './readers.ts'
import { type Finding, quantile, type Say } from './show.ts'

const readers = 8
const readings = 30
/** Facts a second, more or less: those of some hundred vaults that are marked every few seconds. */
const copiesAMinute = 2
/** Memory is judged by the second half: in the first one caches fill and code is compiled. */
const tellingMinutes = 5
const maxGrowth = 1.1

interface SoakOptions {
  readonly homes: Homes
  readonly minutes: number
  readonly say: Say
}

/**
 * Asks a gateway for a long time for everything, while it follows a feed: what it holds stays the same, and afterwards
 * REST, GraphQL and the database agree.
 */
export async function soak({ homes, minutes, say }: SoakOptions): Promise<Finding> {
  const { catalogue, feeds } = growingWorld(Math.max(2, Math.ceil(copiesAMinute * minutes)))
  const facts = feeds.flat().sort((a, b) => a.ts - b.ts)
  const home = await homes.create()
  await withDatabase(await home.open(), (database) => apply(database, catalogue))
  const feed = path.join(homes.folder, 'followed.ndjson')
  await writeFile(feed, '')
  const gateway = await startGateway(['--feed', feed], home.env)
  const history = new History(facts)
  const reading = startReaders(gateway.port, history, readers, false)
  const poured = pour(feedText(facts), minutes * 60, (part) => appendFile(feed, part))
  const held = await watch(gateway, minutes, say)
  await poured
  await reading.stop()
  const flaws = [...reading.load.flaws, ...(await isCaughtUp(gateway.port, history))]
  const client = clientOf(gateway.port, readers)
  const served = await servedStates(client, history.vaults)
  client.close()
  const outcome = await gateway.stop()
  flaws.push(...failuresIn(outcome).map((line) => `The gateway logged ${line}`))
  if (outcome.status !== 0) flaws.push(`The gateway ended with ${String(outcome.status)}`)
  flaws.push(...(await withDatabase(await home.open(), (database) => agreement(database, served))))
  const growth = growthOf(held)
  if (minutes >= tellingMinutes) flaws.push(...growth.flaws)
  const figures = {
    minutes,
    'facts applied meanwhile': facts.length,
    'answers, all of the feed': reading.load.answers.right,
    'wrong answers': reading.load.flaws.length,
    'slowest answer, ms': Math.round(reading.load.slowestMilliseconds),
    ...growth.figures,
    'vaults on which REST, GraphQL and the database agree': served.length,
  }
  return { figures, flaws }
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
async function watch(gateway: GatewayProcess, minutes: number, say: Say): Promise<Reading[]> {
  const held: Reading[] = []
  for (let at = 0; at < readings; at++) {
    await wait((minutes * 60_000) / readings)
    const reading = await gateway.read()
    held.push(reading)
    say(`${(((at + 1) * minutes) / readings).toFixed(1)} minutes, ${megabytes(reading.heapBytes)} MB`)
  }
  return held
}

/** The third quarter against the last one. */
function growthOf(held: readonly Reading[]): { figures: Record<string, string>; flaws: string[] } {
  const quarter = Math.floor(held.length / 4)
  const kinds = { heap: 'heapBytes', process: 'rssBytes' } as const
  const grown = Object.entries(kinds).map(([what, key]) => {
    const bytes = held.map((reading) => reading[key])
    const [third, last] = [bytes.slice(-2 * quarter, -quarter), bytes.slice(-quarter)]
    return { what, third: quantile(third, 0.5), last: quantile(last, 0.5) }
  })
  return {
    figures: Object.fromEntries(
      grown.map(({ what, third, last }) => [
        `${what} in the third quarter and in the last, MB`,
        `${megabytes(third)}, ${megabytes(last)}`,
      ]),
    ),
    flaws: grown.flatMap(({ what, third, last }) =>
      last > maxGrowth * third ? [`The ${what} grew from ${megabytes(third)} to ${megabytes(last)} MB`] : [],
    ),
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}
