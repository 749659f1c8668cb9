import { setTimeout as wait } from 'node:timers/promises'
import type { Environment } from '../support/process.ts'
import { type HonestClients, type LatencySamples, startHonestClients } from './attacks/honest-clients.ts'
import type { AttackLimits } from './attacks/run.ts'
import { type Client, createClient, graphqlRequest, type TimedResponse } from './client.ts'
import { expensiveQueries, type ExpensiveQuery } from './expensive-queries.ts'
import { type GatewayProcess, startGateway } from './gateway.ts'
import { type ProgramResult, quantile, type ReportProgress } from './program-result.ts'

/** Concurrent connections that send expensive queries. */
const attackerCount = 32

/** Options of a flood of expensive queries. */
export interface FloodOptions {
  readonly env: Environment
  /** Addresses of vaults with long series, and of others, whose snapshots honest clients request. */
  readonly longSeriesVaults: readonly string[]
  readonly shortSeriesVaults: readonly string[]
  /** Duration of the flood with each query. */
  readonly seconds: number
  /** Number of queries, those with the highest CPU time first. */
  readonly shapes: number
  /** Selects the queries whose names contain one of these; all by default. */
  readonly only?: readonly string[] | undefined
  /** Limits on honest clients; `half` limits the p99 of snapshots to half of the median of the expensive queries. */
  readonly limits: Pick<AttackLimits, 'snapshotMilliseconds' | 'healthMilliseconds'> | 'half'
  readonly reportProgress: ReportProgress
}

/** Measurements of an expensive query without other load. */
interface SingleRun {
  readonly expensive: ExpensiveQuery
  readonly status: number
  readonly bytes: number
  readonly milliseconds: number
  readonly cpuMilliseconds: number
  /** Longest event-loop delay. */
  readonly blockedMilliseconds: number
}

/** Responses to expensive queries, and response times of honest clients beside them. */
interface FloodRun {
  readonly expensive: readonly TimedResponse[]
  readonly honest: LatencySamples
}

/** Sends each of the most expensive queries within the limits by many connections, and measures honest clients. */
export async function floodWithExpensiveQueries(options: FloodOptions): Promise<ProgramResult> {
  const { env, longSeriesVaults, shortSeriesVaults, seconds, shapes, only, limits, reportProgress } = options
  const gateway = await startGateway([], env)
  const client = createClient(gateway.port, attackerCount)
  const honestClients = startHonestClients(gateway.port, shortSeriesVaults)
  const singleRuns: SingleRun[] = []
  const selected = expensiveQueries(longSeriesVaults).filter(
    ({ shape }) => only?.some((each) => shape.includes(each)) ?? true,
  )
  for (const expensive of selected) {
    singleRuns.push(await measureSingleRun(gateway, client, expensive))
    reportProgress(`single: ${expensive.shape}`)
  }
  const mostExpensive = singleRuns.toSorted((a, b) => b.cpuMilliseconds - a.cpuMilliseconds).slice(0, shapes)
  const measurements: Record<string, string> = {}
  const violations: string[] = []
  for (const singleRun of mostExpensive) {
    reportProgress(`flood: ${singleRun.expensive.shape}`)
    const floodRun = await runFlood(gateway.port, honestClients, singleRun.expensive, seconds)
    measurements[singleRun.expensive.shape] = `${describeSingleRun(singleRun)}; ${describeFlood(floodRun)}`
    violations.push(
      ...floodViolations(floodRun, limits).map((violation) => `Under ${singleRun.expensive.shape}, ${violation}`),
    )
  }
  client.close()
  honestClients.close()
  const { status } = await gateway.stop()
  return {
    measurements,
    violations: [...violations, ...(status === 0 ? [] : [`The gateway exited with status ${String(status)}`])],
  }
}

/** Makes the comment of each query unique. */
let documentCount = 0

/** Returns the response, or one with status 0 if the request fails. */
async function responseOrFailure(pending: Promise<TimedResponse>): Promise<TimedResponse> {
  const startedAt = performance.now()
  return pending.catch(() => ({ status: 0, headers: {}, body: '', milliseconds: performance.now() - startedAt }))
}

/** Sends a query with a unique comment, so that the operation cache misses. */
function sendQuery(client: Client, { query, variables }: ExpensiveQuery): Promise<TimedResponse> {
  return client.send(graphqlRequest(`${query} # ${++documentCount}`, variables))
}

/** Measures one query without other load, after a warm-up. */
async function measureSingleRun(
  gateway: GatewayProcess,
  client: Client,
  expensive: ExpensiveQuery,
): Promise<SingleRun> {
  await responseOrFailure(sendQuery(client, expensive))
  const before = await gateway.read()
  const { status, body, milliseconds } = await responseOrFailure(sendQuery(client, expensive))
  const after = await gateway.read()
  return {
    expensive,
    status,
    bytes: body.length,
    milliseconds,
    cpuMilliseconds: (after.cpuSeconds - before.cpuSeconds) * 1000,
    blockedMilliseconds: after.blockedSeconds * 1000,
  }
}

/** Floods the gateway with one query for a time, and until the last responses of honest clients. */
async function runFlood(
  port: number,
  honestClients: HonestClients,
  expensive: ExpensiveQuery,
  seconds: number,
): Promise<FloodRun> {
  const responses: TimedResponse[] = []
  const client = createClient(port, attackerCount)
  const state = { isOver: false }
  const attacker = async (): Promise<void> => {
    while (!state.isOver) {
      responses.push(await responseOrFailure(sendQuery(client, expensive)))
    }
  }
  honestClients.begin()
  const ended = Promise.all(Array.from({ length: attackerCount }, attacker))
  await wait(seconds * 1000)
  const honest = await honestClients.end()
  state.isOver = true
  // Requests that are cut from here on are not failures of the gateway.
  const completed = [...responses]
  client.close()
  await ended
  return { expensive: completed, honest }
}

/** Compares the response times of honest clients with the limits, and checks the statuses of the expensive queries. */
function floodViolations({ expensive, honest }: FloodRun, limits: FloodOptions['limits']): string[] {
  const expensiveMilliseconds = expensive.map(({ milliseconds }) => milliseconds)
  const p99 = quantile(honest.snapshots, 0.99)
  // Without any response, expensive queries took longer than everything measured.
  const half = expensiveMilliseconds.length === 0 ? Infinity : quantile(expensiveMilliseconds, 0.5) / 2
  const resolvedLimits = limits === 'half' ? { snapshotMilliseconds: half, healthMilliseconds: Infinity } : limits
  const slowestHealth = Math.max(0, ...honest.health)
  const unexpected = expensive.filter(({ status, headers }) => status !== 200 && headers['retry-after'] === undefined)
  return [
    ...(p99 > resolvedLimits.snapshotMilliseconds
      ? [`p99 of snapshots ${Math.round(p99)} ms, limit ${Math.round(resolvedLimits.snapshotMilliseconds)}`]
      : []),
    ...(slowestHealth > resolvedLimits.healthMilliseconds
      ? [`/health took ${Math.round(slowestHealth)} ms, limit ${resolvedLimits.healthMilliseconds}`]
      : []),
    ...(unexpected.length > 0
      ? [`${unexpected.length} responses with status ${String(unexpected[0]?.status)} and without Retry-After`]
      : []),
    ...(honest.failed > 0 ? [`${honest.failed} honest requests failed`] : []),
  ]
}

function describeSingleRun({ status, bytes, milliseconds, cpuMilliseconds, blockedMilliseconds }: SingleRun): string {
  const [ms, cpu, blocked] = [milliseconds, cpuMilliseconds, blockedMilliseconds].map(Math.round)
  return `single: status ${status}, ${Math.round(bytes / 1000)} KB, ${ms} ms, CPU ${cpu} ms, loop blocked ${blocked} ms`
}

function describeFlood({ expensive, honest }: FloodRun): string {
  const succeeded = expensive.filter(({ status }) => status === 200).length
  const [p50, p99] = [0.5, 0.99].map((share) => Math.round(quantile(honest.snapshots, share)))
  const health = Math.round(Math.max(...honest.health))
  const statuses = `flood: ${succeeded} of ${expensive.length} with status 200`
  return `${statuses}; ${honest.snapshots.length} snapshots, p50 ${p50} ms, p99 ${p99} ms; /health max ${health} ms`
}
