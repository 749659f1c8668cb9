import path from 'node:path'
import { median } from '../median.ts'
import { startBackgroundFeed } from './background-feed.ts'
import { checkAnswers } from './check-answers.ts'
import { type BenchmarkTarget, compareTargets, type ComparisonResult } from './comparison.ts'
import type { SpeedResult } from './goals.ts'
import type { SpeedOptions } from './options.ts'
import { dropPostgreSql, preparePGlite, preparePostgreSql, type PreparedPostgreSql } from './prepare.ts'
import { describeMachine } from './process-usage.ts'
import type { RunDescription } from './report.ts'
import { measureStatements } from './statements.ts'
import {
  bareProgram,
  constantProgram,
  fetchText,
  gatewayProgram,
  postgraphileProgram,
  type Program,
  startSystem,
  type System,
} from './systems.ts'
import { readinessRequest, requestBy, workloads } from './workloads.ts'
import { vaultAddress, type WorldSize } from './world.ts'

const starts = 3
const cacheMegabytes = 32

const coldProgram = (url: string): Program =>
  gatewayProgram({ DATABASE_URL: url, CACHE_MEGABYTES: '0' }, readinessRequest('rest'))

/**
 * Builds the worlds, starts all systems, and measures them.
 * @param folder for the data directory of PGlite
 */
export async function measureSpeed(
  options: SpeedOptions,
  folder: string,
): Promise<{ result: SpeedResult; run: RunDescription }> {
  const world = await preparePostgreSql(options.server, options.size, options.isKept)
  const dataDir = path.join(folder, 'data')
  if (!options.without.has('pglite')) await preparePGlite(dataDir, options.pgliteSize)
  const statements = await measureStatements(world.url, options)
  const firstAnswerSeconds = await medianStartSeconds(world.url)
  const comparison = await runComparison(options, world, dataDir)
  if (!options.isKept) await dropPostgreSql(options.server, options.size)
  return { result: { comparison, ...statements, firstAnswerSeconds }, run: describeRun(options, world.version) }
}

async function runComparison(
  options: SpeedOptions,
  world: PreparedPostgreSql,
  dataDir: string,
): Promise<ComparisonResult> {
  const { size, pgliteSize, without } = options
  const running: System[] = []
  const run = async (program: Program): Promise<System> => {
    const system = await startSystem(program)
    running.push(system)
    return system
  }
  const feed = startBackgroundFeed(world.url, size.vaults, world.newest)
  try {
    const targets = await postgresqlTargets(options, world, run)
    if (!without.has('pglite')) {
      const system = await run(gatewayProgram({ DATA_DIR: dataDir, CACHE_MEGABYTES: '0' }, readinessRequest('rest')))
      targets.push(...restAndGraphql('cold, PGlite', system, pgliteSize))
    }
    await checkAnswers(targets)
    const onRound = (round: number): void => console.log(`Finished round ${round} of ${options.rounds}`)
    return await compareTargets(targets, { ...options, feed, onRound })
  } finally {
    await feed.close()
    for (const system of running) await system.close()
  }
}

async function postgresqlTargets(
  { size, without }: SpeedOptions,
  { url }: PreparedPostgreSql,
  run: (program: Program) => Promise<System>,
): Promise<BenchmarkTarget[]> {
  const target = (
    name: string,
    system: System,
    requestFor: BenchmarkTarget['requestFor'],
    isFed = false,
  ): BenchmarkTarget => ({ name, system, size, requestFor, isFed })
  const cold = await run(coldProgram(url))
  const hotEnv = { DATABASE_URL: url, CACHE_MEGABYTES: String(cacheMegabytes) }
  const hot = await run(gatewayProgram(hotEnv, readinessRequest('rest')))
  const constant = await run(constantProgram(await responseBodies(cold), { method: 'GET', path: '/W1-rest' }))
  const targets = [
    target('bare', await run(bareProgram(url, readinessRequest('bare'))), requestBy('bare')),
    // Measured during the feed, as the hot gateway that it is compared with: the ingester uses CPU time too.
    target('constant REST', constant, requestToConstant('rest'), true),
    target('constant GraphQL', constant, requestToConstant('graphql'), true),
    ...restAndGraphql('cold', cold, size),
    ...restAndGraphql('hot', hot, size).map((each) => ({ ...each, isFed: true })),
  ]
  if (without.has('postgraphile')) return targets
  const postgraphile = await run(await postgraphileProgram(url, readinessRequest('postgraphile')))
  return [...targets, target('PostGraphile', postgraphile, requestBy('postgraphile'))]
}

/** Returns a gateway as two targets, one for each of its protocols. */
function restAndGraphql(label: string, system: System, size: WorldSize): BenchmarkTarget[] {
  const protocols = { REST: requestBy('rest'), GraphQL: requestBy('graphql') }
  return Object.entries(protocols).map(([protocol, requestFor]) => ({
    name: `${protocol} ${label}`,
    system,
    size,
    requestFor,
    isFed: false,
  }))
}

/** Fetches the gateway's response bodies of all workloads, by workload and protocol, for the constant handler. */
async function responseBodies({ port }: System): Promise<Record<string, string>> {
  const bodies: Record<string, string> = {}
  for (const { name, ways } of workloads) {
    for (const protocol of ['rest', 'graphql'] as const) {
      const request = ways[protocol]?.(vaultAddress(1))
      if (request !== undefined) bodies[`${name}-${protocol}`] = await fetchText(port, request)
    }
  }
  return bodies
}

/** Returns the requests of the constant handler: the gateway's, with the path of the ready-made body. */
function requestToConstant(protocol: 'rest' | 'graphql'): BenchmarkTarget['requestFor'] {
  return ({ name, ways }) => {
    const build = ways[protocol]
    return build === undefined ? null : (address) => ({ ...build(address), path: `/${name}-${protocol}` })
  }
}

/** Starts the gateway several times, and returns the median time to its first answer. */
async function medianStartSeconds(url: string): Promise<number> {
  const seconds: number[] = []
  for (let index = 0; index < starts; index++) {
    const system = await startSystem(coldProgram(url))
    seconds.push(system.firstAnswerSeconds)
    await system.close()
  }
  return median(seconds)
}

function describeRun({ size, pgliteSize, without, ...options }: SpeedOptions, version: string): RunDescription {
  const { vaults, longSeries, longPoints, middlePoints, points, ledgerRows } = size
  const pglite = without.has('pglite')
    ? ''
    : ` PGlite's world has ${pgliteSize.vaults} vaults, ${pgliteSize.longSeries} of them with the longest series.`
  return {
    ...options,
    date: new Date().toISOString().slice(0, 10),
    machine: describeMachine(version),
    world:
      `${vaults} vaults, ${longPoints} equity points on ${longSeries} of them, ${middlePoints} on ${longSeries} and ` +
      `${points} on the rest, ${ledgerRows} ledger rows each.${pglite}`,
  }
}
