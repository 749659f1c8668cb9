import { type CountingProxy, startCountingProxy } from './counting-proxy.ts'
import type { SpeedResult } from './goals.ts'
import type { HttpRequest } from './load.ts'
import {
  bareProgram,
  fetchText,
  gatewayProgram,
  postgraphileProgram,
  type Program,
  startSystem,
  type System,
} from './systems.ts'
import { type Protocol, readinessRequest, vaultList, workloads } from './workloads.ts'
import { vaultAddress } from './world.ts'

const repetitions = 3

type StatementCounts = Pick<SpeedResult, 'statements' | 'statementsForOneVault'>

/** Counts the statements of a request, for each system and workload, when the same request was answered once before. */
export async function measureStatements(
  url: string,
  { without }: { without: ReadonlySet<string> },
): Promise<StatementCounts> {
  const proxy = await startCountingProxy(url)
  const statements = new Map<string, ReadonlyMap<string, number>>()
  const gateway = await startSystem(
    gatewayProgram({ DATABASE_URL: proxy.url, CACHE_MEGABYTES: '0' }, readinessRequest('rest')),
  )
  statements.set('REST cold', await countWorkloads(proxy, gateway, 'rest'))
  statements.set('GraphQL cold', await countWorkloads(proxy, gateway, 'graphql'))
  const statementsForOneVault = await countStatements(proxy, gateway, vaultList(1))
  await gateway.close()
  statements.set('bare', await startAndCount(proxy, bareProgram(proxy.url, readinessRequest('bare')), 'bare'))
  if (!without.has('postgraphile')) {
    const program = await postgraphileProgram(proxy.url, readinessRequest('postgraphile'))
    statements.set('PostGraphile', await startAndCount(proxy, program, 'postgraphile'))
  }
  await proxy.close()
  return { statements, statementsForOneVault }
}

async function startAndCount(proxy: CountingProxy, program: Program, protocol: Protocol): Promise<Map<string, number>> {
  const system = await startSystem(program)
  const counts = await countWorkloads(proxy, system, protocol)
  await system.close()
  return counts
}

async function countWorkloads(proxy: CountingProxy, system: System, protocol: Protocol): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { name, ways } of workloads) {
    const request = ways[protocol]?.(vaultAddress(1))
    if (request !== undefined) counts.set(name, await countStatements(proxy, system, request))
  }
  return counts
}

/** Returns the minimum of several repetitions: a system may send statements of its own in between. */
async function countStatements(proxy: CountingProxy, { port }: System, request: HttpRequest): Promise<number> {
  await fetchText(port, request)
  const counts: number[] = []
  for (let repetition = 0; repetition < repetitions; repetition++) {
    proxy.takeCount()
    await fetchText(port, request)
    counts.push(proxy.takeCount())
  }
  return Math.min(...counts)
}
