import path from 'node:path'
import { checkAnswers } from './answers.ts'
import { contest, type Contestant, median } from './contest.ts'
import { liveFeed } from './feed.ts'
import { machine } from './figures.ts'
import type { Measured } from './goals.ts'
import type { Options } from './options.ts'
import { dropPostgreSql, preparePGlite, preparePostgreSql, type PreparedPostgreSql } from './prepare.ts'
import type { Setting } from './report.ts'
import { measureStatements } from './statements.ts'
import { answerOf, bare, constant, gateway, postgraphile, type Program, start, type System } from './systems.ts'
import { askedBy, first, workloads } from './workloads.ts'
import { vaultAddress, type WorldSize } from './world.ts'

const starts = 3
const cacheMegabytes = 32

const cold = (url: string): Program => gateway({ DATABASE_URL: url, CACHE_MEGABYTES: '0' }, first('rest'))

/** Builds the worlds, starts everything, and measures it. */
export async function measureSpeed(
  options: Options,
  folder: string,
): Promise<{ measured: Measured; setting: Setting }> {
  const world = await preparePostgreSql(options.server, options.size, options.isKept)
  const dataDir = path.join(folder, 'data')
  if (!options.without.has('pglite')) await preparePGlite(dataDir, options.pgliteSize)
  const statements = await measureStatements(world.url, options)
  const firstAnswerSeconds = await medianStart(world.url)
  const outcome = await runContest(options, world, dataDir)
  if (!options.isKept) await dropPostgreSql(options.server, options.size)
  return { measured: { outcome, ...statements, firstAnswerSeconds }, setting: settingOf(options, world.version) }
}

async function runContest(options: Options, world: PreparedPostgreSql, dataDir: string): Promise<Measured['outcome']> {
  const { size, pgliteSize, without } = options
  const running: System[] = []
  const run = async (program: Program): Promise<System> => {
    const system = await start(program)
    running.push(system)
    return system
  }
  const feed = liveFeed(world.url, size.vaults, world.newest)
  try {
    const contestants = await onPostgreSql(options, world, run)
    if (!without.has('pglite')) {
      const system = await run(gateway({ DATA_DIR: dataDir, CACHE_MEGABYTES: '0' }, first('rest')))
      contestants.push(...bothWays('cold, PGlite', system, pgliteSize))
    }
    await checkAnswers(contestants)
    const onRound = (round: number): void => console.log(`Round ${round} of ${options.rounds} is over`)
    return await contest(contestants, { ...options, feed, onRound })
  } finally {
    await feed.close()
    for (const system of running) await system.close()
  }
}

async function onPostgreSql(
  { size, without }: Options,
  { url }: PreparedPostgreSql,
  run: (program: Program) => Promise<System>,
): Promise<Contestant[]> {
  const one = (name: string, system: System, asked: Contestant['asked'], isFed = false): Contestant => {
    return { name, system, size, asked, isFed }
  }
  const coldSystem = await run(cold(url))
  const hotSystem = await run(gateway({ DATABASE_URL: url, CACHE_MEGABYTES: String(cacheMegabytes) }, first('rest')))
  const fixed = await run(constant(await bodiesOf(coldSystem), { method: 'GET', path: '/W1-rest' }))
  const contestants = [
    one('bare', await run(bare(url, first('bare'))), askedBy('bare')),
    // What it is compared with is measured under the feed, which takes its part of the processors.
    one('constant REST', fixed, constantly('rest'), true),
    one('constant GraphQL', fixed, constantly('graphql'), true),
    ...bothWays('cold', coldSystem, size),
    ...bothWays('hot', hotSystem, size).map((contestant) => ({ ...contestant, isFed: true })),
  ]
  if (without.has('postgraphile')) return contestants
  const peer = await run(await postgraphile(url, first('postgraphile')))
  return [...contestants, one('PostGraphile', peer, askedBy('postgraphile'))]
}

function bothWays(how: string, system: System, size: WorldSize): Contestant[] {
  const ways = { REST: askedBy('rest'), GraphQL: askedBy('graphql') }
  return Object.entries(ways).map(([name, asked]) => ({ name: `${name} ${how}`, system, size, asked, isFed: false }))
}

/** The gateway's own answers, for the constant handler. */
async function bodiesOf({ port }: System): Promise<Record<string, string>> {
  const bodies: Record<string, string> = {}
  for (const { name, ways } of workloads) {
    for (const way of ['rest', 'graphql'] as const) {
      const exchange = ways[way]?.(vaultAddress(1))
      if (exchange !== undefined) bodies[`${name}-${way}`] = await answerOf(port, exchange)
    }
  }
  return bodies
}

/** Asks the constant handler for what the gateway answers, with the same body of the request. */
function constantly(way: 'rest' | 'graphql'): Contestant['asked'] {
  return ({ name, ways }) => {
    const asked = ways[way]
    return asked === undefined ? null : (address) => ({ ...asked(address), path: `/${name}-${way}` })
  }
}

async function medianStart(url: string): Promise<number> {
  const seconds: number[] = []
  for (let index = 0; index < starts; index++) {
    const system = await start(cold(url))
    seconds.push(system.firstAnswerSeconds)
    await system.close()
  }
  return median(seconds)
}

function settingOf({ size, pgliteSize, without, ...options }: Options, version: string): Setting {
  const { vaults, longSeries, longPoints, middlePoints, points, ledgerRows } = size
  const ofPGlite = without.has('pglite')
    ? ''
    : ` PGlite's world has ${pgliteSize.vaults} vaults, ${pgliteSize.longSeries} of them with the longest series.`
  return {
    ...options,
    date: new Date().toISOString().slice(0, 10),
    machine: machine(version),
    world:
      `${vaults} vaults, ${longPoints} equity points on ${longSeries} of them, ${middlePoints} on ${longSeries} and ` +
      `${points} on the rest, ${ledgerRows} ledger rows each.${ofPGlite}`,
  }
}
