/**
 * Compares this checkout with one of another commit on the workloads of `bench`, over REST and GraphQL, with and without
 * the response cache, on PostgreSQL. Both gateways run side by side and are measured in turn; each round starts both anew,
 * since two processes of one commit differ by as much as a tenth. Prints the ratios of this checkout to the other, as
 * medians of the rounds with their range.
 *   npm run bench:commits -- --other ../earlier [--rounds 7 --seconds 1 --vaults 400 --long-series 40 --long-points 20000]
 * The other checkout must be installed and generated (`npm ci`, `npm run generate`). Each checkout makes a world of its
 * own, since their tables differ, on a server of its own.
 */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { startOwnPostgreSql } from '../support/own-postgresql.ts'
import { checkAnswers } from './speed/answers.ts'
import { contest, type Contestant, type Figures, median, type Outcome } from './speed/contest.ts'
import type * as prepareOfCommit from './speed/prepare.ts'
import { gateway, start } from './speed/systems.ts'
import type * as workloadsOfCommit from './speed/workloads.ts'
import { first } from './speed/workloads.ts'
import { statedSize } from './speed/world.ts'

const { values } = parseArgs({
  options: {
    other: { type: 'string' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '1' },
    vaults: { type: 'string', default: '400' },
    'long-series': { type: 'string', default: '40' },
    'long-points': { type: 'string', default: '20000' },
  },
})
if (values.other === undefined) {
  console.error('Which checkout to compare with? npm run bench:commits -- --other DIRECTORY')
  process.exit(2)
}
const size = {
  ...statedSize,
  vaults: Number(values.vaults),
  longSeries: Number(values['long-series']),
  longPoints: Number(values['long-points']),
}
const sides = { this: path.resolve(import.meta.dirname, '../..'), other: path.resolve(values.other) }
type Side = keyof typeof sides

const servers = { this: await startOwnPostgreSql(), other: await startOwnPostgreSql() }
try {
  const urls = { this: await worldOf('this'), other: await worldOf('other') }
  const outcomes: Outcome[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    // The one that is measured second may find the machine warmer.
    const order: readonly Side[] = round % 2 === 0 ? ['other', 'this'] : ['this', 'other']
    outcomes.push(await measured(order, urls))
    console.log(`Round ${round + 1} of ${values.rounds} is over`)
  }
  report(outcomes)
} finally {
  await servers.this.remove()
  await servers.other.remove()
}

/** Has a checkout make its world, and returns its address. */
async function worldOf(side: Side): Promise<string> {
  const { preparePostgreSql } = (await moduleOf(side, 'prepare.ts')) as typeof prepareOfCommit
  return (await preparePostgreSql(servers[side].url, size, false)).url
}

/** Returns how a checkout is asked for a workload: by its own documents, since the schemas of two commits may differ. */
async function waysOf(side: Side): Promise<Readonly<Record<string, Contestant['asked']>>> {
  const { workloads } = (await moduleOf(side, 'workloads.ts')) as typeof workloadsOfCommit
  const askedBy =
    (way: 'rest' | 'graphql'): Contestant['asked'] =>
    ({ name }) =>
      workloads.find((workload) => workload.name === name)?.ways[way] ?? null
  return { REST: askedBy('rest'), GraphQL: askedBy('graphql') }
}

function moduleOf(side: Side, name: string): Promise<unknown> {
  return import(pathToFileURL(path.join(sides[side], 'test/bench/speed', name)).href)
}

/** Starts the gateways of both checkouts, with and without a response cache, and measures each workload in turn. */
async function measured(order: readonly Side[], urls: Readonly<Record<Side, string>>): Promise<Outcome> {
  const contestants: Contestant[] = []
  try {
    for (const cache of ['cold', 'hot'] as const) {
      for (const side of order) contestants.push(...(await contestantsOf(side, urls[side], cache)))
    }
    await checkAnswers(contestants)
    const inTurn = contestants.toSorted((a, b) => comparisonOf(a.name).localeCompare(comparisonOf(b.name)))
    const options = {
      rounds: 1,
      seconds: Number(values.seconds),
      connections: 32,
      feed: null,
      onRound: () => undefined,
    }
    return await contest(inTurn, options)
  } finally {
    for (const system of new Set(contestants.map((contestant) => contestant.system))) await system.close()
  }
}

/** Starts the gateway of a checkout, and returns it as it is asked over REST and GraphQL. */
async function contestantsOf(side: Side, url: string, cache: 'cold' | 'hot'): Promise<Contestant[]> {
  const env = { DATABASE_URL: url, CACHE_MEGABYTES: cache === 'cold' ? '0' : '32' }
  const system = await start(gateway(env, first('rest'), sides[side]))
  return Object.entries(await waysOf(side)).map(([way, asked]) => {
    return { name: `${way}, ${cache}, ${side}`, system, size, asked, isFed: false }
  })
}

/** Returns what the contestants of both sides have in common: way and cache. They are measured one after the other. */
function comparisonOf(name: string): string {
  return name.slice(0, name.lastIndexOf(','))
}

function report(outcomes: readonly Outcome[]): void {
  const rows: Record<string, Record<string, string>> = {}
  const all: Record<string, number[]> = {}
  for (const [workload, byName] of outcomes[0] ?? []) {
    for (const key of new Set(Array.from(byName.keys(), comparisonOf))) {
      const ratios = (figure: (figures: Figures) => number | null): number[] =>
        outcomes.map((outcome) => {
          const of = (side: Side): number => figure(outcome.get(workload)?.get(`${key}, ${side}`) as Figures) ?? NaN
          return of('this') / of('other')
        })
      const requests = ratios(({ requestsASecond }) => requestsASecond)
      rows[`${workload} ${key}`] = {
        'requests a second': spread(requests),
        'CPU time a request': spread(ratios(({ cpuMilliseconds }) => cpuMilliseconds)),
      }
      for (const group of [key, key.split(', ')[1] ?? '']) (all[group] ??= []).push(...requests)
    }
  }
  console.log('\nThis checkout to the other: median (least to greatest) of the rounds')
  console.table(rows)
  console.log('Requests a second, median of all rounds and workloads:')
  console.table(Object.fromEntries(Object.entries(all).map(([group, ratios]) => [group, { ratio: spread(ratios) }])))
}

function spread(ratios: readonly number[]): string {
  return `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`
}
