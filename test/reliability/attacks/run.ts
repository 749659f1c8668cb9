import { setMaxListeners } from 'node:events'
import { setImmediate as nextIteration, setTimeout as wait } from 'node:timers/promises'
import type { Environment } from '../../support/process.ts'
import { createClient } from '../client.ts'
import { errorLogLines, type GatewayProcess, type ResourceUsage, startGateway } from '../gateway.ts'
import { type ProgramResult, quantile, type ReportProgress } from '../program-result.ts'
import { type AttackTarget, createAttacker, type Statuses } from './attacker.ts'
import { type Attack, connectionsOf } from './attacks.ts'
import { type HonestClients, type LatencySamples, startHonestClients } from './honest-clients.ts'

/** Limits on the effects of an attack: on honest clients, and on memory afterwards. */
export interface AttackLimits {
  /** Maximum response time of /health. */
  readonly healthMilliseconds: number
  /** 99th percentile of the response times of snapshots. */
  readonly snapshotMilliseconds: number
  /** Median of the response times of small queries with new texts; applies to attacks with uncached documents only. */
  readonly newQueryMilliseconds: number
  /** Increase of memory after an attack, once garbage is collected. */
  readonly memoryBytes: number
  /**
   * The measurement of memory: resident memory of the process, or live objects on its JavaScript heap, which vary less.
   */
  readonly memoryOf: 'rssBytes' | 'heapBytes'
}

/** Options of all attacks. */
export interface AttackOptions {
  readonly env: Environment
  readonly target: AttackTarget
  readonly attacks: readonly Attack[]
  /** Duration of each attack by many connections. */
  readonly seconds: number
  /** @param unloaded response times of honest clients without an attack */
  readonly limitsFor: (unloaded: LatencySamples) => AttackLimits
  /**
   * `same`: all attackers have the address of the honest clients, even in attacks with `usesOtherAddress`. `own`: each
   * attacker has a separate address.
   */
  readonly addresses?: 'same' | 'own' | undefined
  readonly reportProgress: ReportProgress
}

/** A small response cache, so that its size, which the operator chooses, does not count as memory of an attack. */
const cacheMegabytes = '4'
/** Minimum duration of an attack that completes at once, so that /health is sampled several times. */
const minSeconds = 0.3
const unloadedSeconds = 1
/** Maximum time until an attack has run `minRuns` times. */
const maxSeconds = 60
const pollMilliseconds = 50
/** Number of memory measurements after an attack, of which the least counts. */
const settleReadings = 6
const settleMilliseconds = 500
const readTimeoutSeconds = 150

const repetitions = [1, 2] as const

/**
 * Runs each attack by one connection and by many, twice, each on a new gateway, and measures honest clients and memory.
 * @returns a line of measurements for each attack, and the limits that were exceeded
 */
export async function runAttacks(options: AttackOptions): Promise<ProgramResult> {
  const measurements: Record<string, string> = {}
  const violations: string[] = []
  for (const attack of options.attacks) {
    for (const isAlone of [true, false]) {
      const clients = isAlone ? 'alone' : `by ${connectionsOf(attack)}`
      options.reportProgress(`${attack.name}, ${clients}`)
      const result = await attackGateway(options, attack, isAlone)
      measurements[`${attack.name}, ${clients}`] = result.measurements
      options.reportProgress(result.measurements)
      violations.push(...result.violations.map((violation) => `Under ${attack.name}, ${clients}: ${violation}`))
    }
  }
  return { measurements, violations }
}

interface AttackResult {
  readonly measurements: string
  readonly violations: readonly string[]
}

/** Runs one attack on a new gateway. */
async function attackGateway(options: AttackOptions, attack: Attack, isAlone: boolean): Promise<AttackResult> {
  const { env, target } = options
  const gateway = await startGateway([], { CACHE_MEGABYTES: cacheMegabytes, ...env })
  const honestClients = startHonestClients(gateway.port, target.shortSeriesVaults)
  const state = { hasExited: false }
  void gateway.ended.then(() => (state.hasExited = true))
  try {
    const unloaded = await measureUnloaded(gateway.port, honestClients)
    const limits = options.limitsFor(unloaded)
    const before = (await readUsage(gateway, state))?.[limits.memoryOf] ?? NaN
    const runs: AttackRun[] = []
    for (const _ of repetitions) {
      const attackRun = await runAttackOnce(options, attack, { gateway, honestClients, isAlone })
      const after = await readSettledMemory(gateway, limits, before, state)
      runs.push({ ...attackRun, after })
      if (state.hasExited) break
    }
    return toAttackResult({ attack, limits, unloaded, before, runs, hasExited: state.hasExited })
  } finally {
    honestClients.close()
    await gateway.kill()
    const logLines = errorLogLines(await gateway.ended)
    if (logLines.length > 0)
      options.reportProgress(`log of the gateway: ${logLines.slice(0, 3).join(' | ').slice(0, 500)}`)
  }
}

/** Measurements of one run of an attack. */
interface AttackRun {
  readonly samples: LatencySamples
  readonly statuses: Statuses
  /** Memory afterwards, in bytes; NaN if the gateway did not report it. */
  readonly after: number
}

/**
 * Warms up the gateway, so that memory of compiled code does not count as that of an attack, then samples honest
 * clients.
 */
async function measureUnloaded(port: number, honestClients: HonestClients): Promise<LatencySamples> {
  const client = createClient(port, 1)
  const body = JSON.stringify({ query: '{ strategies { id } }' })
  for (let sent = 0; sent < 20; sent++) {
    await client.send({ method: 'POST', target: '/graphql', headers: { 'content-type': 'application/json' }, body })
  }
  client.close()
  for (const _ of repetitions.slice(1)) await sampleDuring(honestClients, () => wait(unloadedSeconds * 1000))
  return sampleDuring(honestClients, () => wait(unloadedSeconds * 1000))
}

/** Samples honest clients while a piece of work runs. */
async function sampleDuring(honestClients: HonestClients, work: () => Promise<unknown>): Promise<LatencySamples> {
  honestClients.begin()
  await work()
  return honestClients.end()
}

/** A gateway under attack, and its honest clients. */
interface AttackSetting {
  readonly gateway: GatewayProcess
  readonly honestClients: HonestClients
  readonly isAlone: boolean
}

/** Returns the local address of an attacker. Only Linux accepts all addresses of 127.0.0.0/8 without configuration. */
function attackerAddress({ addresses }: AttackOptions, attack: Attack, isAlone: boolean, at: number): string {
  if (isAlone || process.platform !== 'linux') return '127.0.0.1'
  if (addresses === 'own') return `127.0.1.${1 + at}`
  return attack.usesOtherAddress === true && addresses !== 'same' ? '127.0.0.2' : '127.0.0.1'
}

/** Runs one attack for its duration, with as many attackers as it has. */
async function runAttackOnce(
  options: AttackOptions,
  attack: Attack,
  { gateway, honestClients, isAlone }: AttackSetting,
): Promise<Omit<AttackRun, 'after'>> {
  const { target, seconds } = options
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  const statuses: Statuses = new Map()
  const attackers = Array.from({ length: isAlone ? 1 : connectionsOf(attack) }, (_, at) => {
    const localAddress = attackerAddress(options, attack, isAlone, at)
    return createAttacker({ port: gateway.port, target, isAlone, endSignal: controller.signal, statuses, localAddress })
  })
  const progress = { runCount: 0 }
  const repeatAttack = async (at: number): Promise<void> => {
    const attacker = attackers[at]?.attacker
    if (attacker === undefined) return
    do {
      await attack.run(attacker)
      progress.runCount++
      await nextIteration()
    } while (!isAlone && !attacker.hasEnded())
  }
  const samples = await sampleDuring(honestClients, async () => {
    const allRuns = Promise.all(attackers.map((_, at) => repeatAttack(at)))
    await Promise.all([Promise.race([allRuns, wait(seconds * 1000)]), wait(minSeconds * 1000)])
    const deadline = performance.now() + maxSeconds * 1000
    while (!isAlone && progress.runCount < (attack.minRuns ?? 0) && performance.now() < deadline)
      await wait(pollMilliseconds)
    // Connections stay open until the sampling has ended, although their attackers stop.
    controller.abort()
  })
  for (const { close } of attackers) close()
  return { samples, statuses }
}

/**
 * Returns the memory once it has fallen below the limit, or the least of several measurements; NaN if there is none.
 */
async function readSettledMemory(
  gateway: GatewayProcess,
  { memoryBytes, memoryOf }: AttackLimits,
  before: number,
  state: { readonly hasExited: boolean },
): Promise<number> {
  let minBytes = Infinity
  for (let reading = 0; reading < settleReadings; reading++) {
    await wait(settleMilliseconds)
    const usage = await readUsage(gateway, state)
    if (usage === null) return NaN
    minBytes = Math.min(minBytes, usage[memoryOf])
    if (minBytes <= before + memoryBytes / 2) break
  }
  return minBytes
}

/** Reads the memory of a gateway; null if it has exited or does not report it in time. */
async function readUsage(
  gateway: GatewayProcess,
  state: { readonly hasExited: boolean },
): Promise<ResourceUsage | null> {
  if (state.hasExited) return null
  const timeout = wait(readTimeoutSeconds * 1000, null, { ref: false })
  return Promise.race([gateway.read(), timeout]).catch(() => null)
}

/** All measurements of an attack on one gateway. */
interface AttackOutcome {
  readonly attack: Attack
  readonly limits: AttackLimits
  readonly unloaded: LatencySamples
  readonly before: number
  readonly runs: readonly AttackRun[]
  /** Whether the gateway has exited during the attack. */
  readonly hasExited: boolean
}

/** Formats the measurements of an attack, and compares them with the limits. */
function toAttackResult({ attack, limits, unloaded, before, runs, hasExited }: AttackOutcome): AttackResult {
  const worst = (of: (samples: LatencySamples) => number): number => Math.max(...runs.map(({ samples }) => of(samples)))
  const health = worst(({ health }) => Math.max(...health))
  const snapshots = worst(({ snapshots }) => quantile(snapshots, 0.99))
  const queries = worst(({ queries }) => quantile(queries, 0.5))
  const failed = runs.reduce((sum, { samples }) => sum + samples.failed, 0)
  const growth = Math.max(...runs.map(({ after }) => after - before))
  const statuses = sumStatuses(runs)
  const violationIf = (value: number, limit: number, violation: string): string[] => (value > limit ? [violation] : [])
  const usesUncachedDocuments = attack.category === 'uncached documents'
  const megabytes = [before, ...runs.map(({ after }) => after)].map((bytes) => Math.round(bytes / 1e6)).join(' > ')
  const measurements = [
    `health ${formatMilliseconds(health)}`,
    `snapshots p99 ${formatMilliseconds(snapshots)}`,
    `new queries p50 ${formatMilliseconds(queries)}`,
    `MB ${megabytes.padEnd(15)}`,
    `${failed === 0 ? '' : `${failed} honest requests failed; `}${formatStatuses(statuses)}`,
    attack.category,
    `(unloaded ${Math.round(Math.max(...unloaded.health))}, ${Math.round(quantile(unloaded.snapshots, 0.99))} and ${Math.round(quantile(unloaded.queries, 0.5))} ms)`,
  ]
  return {
    measurements: measurements.join('  '),
    violations: [
      ...(hasExited ? ['the gateway exited'] : []),
      ...violationIf(
        health,
        limits.healthMilliseconds,
        `/health took ${Math.round(health)} ms, limit ${Math.round(limits.healthMilliseconds)}`,
      ),
      ...violationIf(
        snapshots,
        limits.snapshotMilliseconds,
        `p99 of snapshots ${Math.round(snapshots)} ms, limit ${Math.round(limits.snapshotMilliseconds)}`,
      ),
      ...(usesUncachedDocuments
        ? violationIf(
            queries,
            limits.newQueryMilliseconds,
            `median of new queries ${Math.round(queries)} ms, limit ${Math.round(limits.newQueryMilliseconds)}`,
          )
        : []),
      ...(growth <= limits.memoryBytes
        ? []
        : [`memory grew ${megabytes} MB, limit +${Math.round(limits.memoryBytes / 1e6)} MB`]),
      ...violationIf(failed, 0, `${failed} honest requests failed`),
      ...violationIf(statuses.get(500) ?? 0, 0, `${statuses.get(500) ?? 0} responses with status 500`),
    ],
  }
}

/** Formats a time with a fixed width, so that the columns of all attacks align. */
function formatMilliseconds(milliseconds: number): string {
  return `${Math.round(milliseconds)} ms`.padStart(9)
}

function sumStatuses(runs: readonly AttackRun[]): Statuses {
  const all: Statuses = new Map()
  for (const { statuses } of runs) {
    for (const [status, count] of statuses) all.set(status, (all.get(status) ?? 0) + count)
  }
  return all
}

function formatStatuses(statuses: Statuses): string {
  if (statuses.size === 0) return 'no responses'
  return [...statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${count} x ${status === 0 ? 'no response' : status}`)
    .join(', ')
}
