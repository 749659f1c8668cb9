/**
 * Compares this checkout with a checkout of another commit on the workloads of `npm run bench`, over REST and GraphQL, with
 * and without the response cache, on PostgreSQL. Both gateways run at the same time and are measured in turn; each round
 * restarts both, since two processes of one commit differ by up to a tenth. Prints the ratios of this checkout to the
 * other, as medians of the rounds with their range.
 *   npm run bench:commits -- --other ../earlier [--rounds 7 --seconds 1 --vaults 400 --long-series 40 --long-points 20000]
 * The other checkout must be installed and generated (`npm ci`, `npm run generate`). Each checkout builds a world of its
 * own on a separate server, since their schemas may differ.
 */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { startOwnPostgreSql } from '../support/own-postgresql.ts'
import { median } from './median.ts'
import { checkAnswers } from './speed/check-answers.ts'
import { type BenchmarkTarget, compareTargets, type ComparisonResult, type Measurement } from './speed/comparison.ts'
import type * as prepareOfCommit from './speed/prepare.ts'
import { gatewayProgram, startSystem } from './speed/systems.ts'
import type * as workloadsOfCommit from './speed/workloads.ts'
import { readinessRequest } from './speed/workloads.ts'
import { defaultSize } from './speed/world.ts'

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
  console.error('The other checkout is missing: npm run bench:commits -- --other DIRECTORY')
  process.exit(2)
}
const size = {
  ...defaultSize,
  vaults: Number(values.vaults),
  longSeries: Number(values['long-series']),
  longPoints: Number(values['long-points']),
}
const checkouts = { this: path.resolve(import.meta.dirname, '../..'), other: path.resolve(values.other) }
type Checkout = keyof typeof checkouts

const servers = { this: await startOwnPostgreSql(), other: await startOwnPostgreSql() }
try {
  const urls = { this: await buildWorld('this'), other: await buildWorld('other') }
  const results: ComparisonResult[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    // The order alternates, since the second one may find a faster machine.
    const order: readonly Checkout[] = round % 2 === 0 ? ['other', 'this'] : ['this', 'other']
    results.push(await measureRound(order, urls))
    console.log(`Finished round ${round + 1} of ${values.rounds}`)
  }
  report(results)
} finally {
  await servers.this.remove()
  await servers.other.remove()
}

/** Builds a world by the code of a checkout, and returns the URL of its database. */
async function buildWorld(checkout: Checkout): Promise<string> {
  const { preparePostgreSql } = (await importFrom(checkout, 'prepare.ts')) as typeof prepareOfCommit
  return (await preparePostgreSql(servers[checkout].url, size, false)).url
}

/** Returns the requests of a checkout's own workloads by protocol: the GraphQL schemas of two commits may differ. */
async function requestsOf(checkout: Checkout): Promise<Readonly<Record<string, BenchmarkTarget['requestFor']>>> {
  const { workloads } = (await importFrom(checkout, 'workloads.ts')) as typeof workloadsOfCommit
  const requestBy =
    (protocol: 'rest' | 'graphql'): BenchmarkTarget['requestFor'] =>
    ({ name }) =>
      workloads.find((workload) => workload.name === name)?.ways[protocol] ?? null
  return { REST: requestBy('rest'), GraphQL: requestBy('graphql') }
}

function importFrom(checkout: Checkout, file: string): Promise<unknown> {
  return import(pathToFileURL(path.join(checkouts[checkout], 'test/bench/speed', file)).href)
}

/** Starts the gateways of both checkouts, with and without a response cache, and measures each workload in turn. */
async function measureRound(
  order: readonly Checkout[],
  urls: Readonly<Record<Checkout, string>>,
): Promise<ComparisonResult> {
  const targets: BenchmarkTarget[] = []
  try {
    for (const cache of ['cold', 'hot'] as const) {
      for (const checkout of order) targets.push(...(await startTargets(checkout, urls[checkout], cache)))
    }
    await checkAnswers(targets)
    // Both checkouts directly after each other.
    const sorted = targets.toSorted((a, b) => protocolAndCache(a.name).localeCompare(protocolAndCache(b.name)))
    const options = {
      rounds: 1,
      seconds: Number(values.seconds),
      connections: 32,
      feed: null,
      onRound: () => undefined,
    }
    return await compareTargets(sorted, options)
  } finally {
    for (const system of new Set(targets.map((target) => target.system))) await system.close()
  }
}

/** Starts the gateway of a checkout, and returns a target for each protocol. */
async function startTargets(checkout: Checkout, url: string, cache: 'cold' | 'hot'): Promise<BenchmarkTarget[]> {
  const env = { DATABASE_URL: url, CACHE_MEGABYTES: cache === 'cold' ? '0' : '32' }
  const system = await startSystem(gatewayProgram(env, readinessRequest('rest'), checkouts[checkout]))
  return Object.entries(await requestsOf(checkout)).map(([protocol, requestFor]) => {
    return { name: `${protocol}, ${cache}, ${checkout}`, system, size, requestFor, isFed: false }
  })
}

/** Returns the part of a target's name that is the same for both checkouts. */
function protocolAndCache(name: string): string {
  return name.slice(0, name.lastIndexOf(','))
}

function report(results: readonly ComparisonResult[]): void {
  const rows: Record<string, Record<string, string>> = {}
  const all: Record<string, number[]> = {}
  for (const [workload, byTarget] of results[0] ?? []) {
    for (const key of new Set(Array.from(byTarget.keys(), protocolAndCache))) {
      const ratios = (field: (measurement: Measurement) => number | null): number[] =>
        results.map((result) => {
          const valueOf = (checkout: Checkout): number =>
            field(result.get(workload)?.get(`${key}, ${checkout}`) as Measurement) ?? NaN
          return valueOf('this') / valueOf('other')
        })
      const requests = ratios(({ requestsPerSecond }) => requestsPerSecond)
      rows[`${workload} ${key}`] = {
        'requests a second': medianAndRange(requests),
        'CPU time a request': medianAndRange(ratios(({ cpuMilliseconds }) => cpuMilliseconds)),
      }
      for (const group of [key, key.split(', ')[1] ?? '']) (all[group] ??= []).push(...requests)
    }
  }
  console.log('\nRatio of this checkout to the other: median (minimum to maximum) of the rounds')
  console.table(rows)
  console.log('Requests a second, median of all rounds and workloads:')
  console.table(
    Object.fromEntries(Object.entries(all).map(([group, ratios]) => [group, { ratio: medianAndRange(ratios) }])),
  )
}

function medianAndRange(ratios: readonly number[]): string {
  return `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`
}
