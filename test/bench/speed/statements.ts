import { type CountingWay, countStatements } from './counting-way.ts'
import type { Measured } from './goals.ts'
import type { Exchange } from './load.ts'
import { answerOf, bare, gateway, postgraphile, type Program, start, type System } from './systems.ts'
import { first, vaultList, type Ways, workloads } from './workloads.ts'
import { vaultAddress } from './world.ts'

const times = 3

type Statements = Pick<Measured, 'statements' | 'statementsOfOne'>

/** Statements that a request takes, of each system that sends any, when it has answered the same once before. */
export async function measureStatements(
  url: string,
  { without }: { without: ReadonlySet<string> },
): Promise<Statements> {
  const way = await countStatements(url)
  const statements = new Map<string, ReadonlyMap<string, number>>()
  const own = await start(gateway({ DATABASE_URL: way.url, CACHE_MEGABYTES: '0' }, first('rest')))
  statements.set('REST cold', await countAll(way, own, 'rest'))
  statements.set('GraphQL cold', await countAll(way, own, 'graphql'))
  const statementsOfOne = await count(way, own, vaultList(1))
  await own.close()
  statements.set('bare', await countOf(way, bare(way.url, first('bare')), 'bare'))
  if (!without.has('postgraphile')) {
    const peer = await postgraphile(way.url, first('postgraphile'))
    statements.set('PostGraphile', await countOf(way, peer, 'postgraphile'))
  }
  await way.close()
  return { statements, statementsOfOne }
}

async function countOf(way: CountingWay, program: Program, asked: keyof Ways): Promise<Map<string, number>> {
  const system = await start(program)
  const counts = await countAll(way, system, asked)
  await system.close()
  return counts
}

async function countAll(way: CountingWay, system: System, asked: keyof Ways): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { name, ways } of workloads) {
    const exchange = ways[asked]?.(vaultAddress(1))
    if (exchange !== undefined) counts.set(name, await count(way, system, exchange))
  }
  return counts
}

/** The least of a few times: what a system asks by itself, now and then, is no part of an answer. */
async function count(way: CountingWay, { port }: System, exchange: Exchange): Promise<number> {
  await answerOf(port, exchange)
  const counts: number[] = []
  for (let time = 0; time < times; time++) {
    way.take()
    await answerOf(port, exchange)
    counts.push(way.take())
  }
  return Math.min(...counts)
}
