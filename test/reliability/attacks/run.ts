import { setMaxListeners } from 'node:events'
import { setImmediate as nextIteration, setTimeout as wait } from 'node:timers/promises'
import type { Environment } from '../../support/process.ts'
import { clientOf } from '../client.ts'
import { failuresIn, type GatewayProcess, type Reading, startGateway } from '../gateway.ts'
import { type Finding, quantile, type Say } from '../show.ts'
import { type Attack, connectionsOf } from './attacks.ts'
import { createAttacker, type Statuses, type Target } from './attacker.ts'
import { type Samples, startWitness, type Witness } from './witness.ts'

/** Limits on the effects of an attack: on honest clients, and on memory afterwards. */
export interface AttackBounds {
  /** The slowest answer of /health, in milliseconds. */
  readonly health: number
  /** The 99th percentile of plain snapshots, in milliseconds. */
  readonly snapshots: number
  /** The median of small queries that were never asked, under attacks by documents that were never asked. */
  readonly queries: number
  /** Bytes of memory that an attack may leave behind, once its garbage is collected. */
  readonly memory: number
  /** The memory of the process, or what is alive on its JavaScript heap, which is the same on each run. */
  readonly memoryOf: 'rssBytes' | 'heapBytes'
}

export interface AttackOptions {
  readonly env: Environment
  readonly target: Target
  readonly attacks: readonly Attack[]
  /** How long each attack by many connections lasts. */
  readonly seconds: number
  /** @param unloaded what honest clients see while nothing else is asked */
  readonly boundsOf: (unloaded: Samples) => AttackBounds
  /**
   * Whether all attackers have the honest clients' address, also those that come from elsewhere otherwise, or each has one
   * of its own.
   */
  readonly addresses?: 'same' | 'own' | undefined
  readonly say: Say
}

/** A cache as small as makes no difference to the memory: its bound is the operator's choice. */
const cacheMegabytes = '4'
/** As long as a health check looks at the gateway after a request that was answered at once. */
const leastSeconds = 0.3
const unloadedSeconds = 1
/** How long one is carried on until it was carried out often enough. */
const maxSeconds = 60
const pollMilliseconds = 50
/** How long memory has to come down after an attack. */
const settleReadings = 6
const settleMilliseconds = 500
const readingSeconds = 150

const repeats = [1, 2] as const

/** Carries out each attack by one connection and by many, twice, on a gateway of its own that honest clients use meanwhile. */
export async function runAttacks(options: AttackOptions): Promise<Finding> {
  const figures: Record<string, string> = {}
  const flaws: string[] = []
  for (const attack of options.attacks) {
    for (const isAlone of [true, false]) {
      const how = isAlone ? 'alone' : `by ${connectionsOf(attack)}`
      options.say(`${attack.name}, ${how}`)
      const result = await onGateway(options, attack, isAlone)
      figures[`${attack.name}, ${how}`] = result.figures
      options.say(result.figures)
      flaws.push(...result.flaws.map((flaw) => `Under ${attack.name}, ${how}: ${flaw}`))
    }
  }
  return { figures, flaws }
}

interface AttackResult {
  readonly figures: string
  readonly flaws: readonly string[]
}

async function onGateway(options: AttackOptions, attack: Attack, isAlone: boolean): Promise<AttackResult> {
  const { env, target } = options
  const gateway = await startGateway([], { CACHE_MEGABYTES: cacheMegabytes, ...env })
  const witness = startWitness(gateway.port, target.short)
  const ended = { byItself: false }
  void gateway.ended.then(() => (ended.byItself = true))
  try {
    const unloaded = await unloadedSamples(gateway.port, witness)
    const bounds = options.boundsOf(unloaded)
    const before = (await readWithin(gateway, ended))?.[bounds.memoryOf] ?? NaN
    const runs: Run[] = []
    for (const _ of repeats) {
      const run = await attackOnce(options, attack, { gateway, witness, isAlone })
      const after = await settledMemory(gateway, bounds, before, ended)
      runs.push({ ...run, after })
      if (ended.byItself) break
    }
    return resultOf({ attack, bounds, unloaded, before, runs, isGone: ended.byItself })
  } finally {
    witness.close()
    await gateway.kill()
    const failures = failuresIn(await gateway.ended)
    if (failures.length > 0) options.say(`the gateway's log: ${failures.slice(0, 3).join(' | ').slice(0, 500)}`)
  }
}

/** One turn of an attack, with what honest clients saw. */
interface Run {
  readonly samples: Samples
  readonly statuses: Statuses
  /** Memory afterwards, in bytes; NaN where the gateway tells nothing any more. */
  readonly after: number
}

/** Warms the gateway up first: memory of compiled code does not count for an attack. */
async function unloadedSamples(port: number, witness: Witness): Promise<Samples> {
  const client = clientOf(port, 1)
  const body = JSON.stringify({ query: '{ strategies { id } }' })
  for (let asked = 0; asked < 20; asked++) {
    await client.ask({ method: 'POST', target: '/graphql', headers: { 'content-type': 'application/json' }, body })
  }
  client.close()
  for (const _ of repeats.slice(1)) await sampled(witness, () => wait(unloadedSeconds * 1000))
  return sampled(witness, () => wait(unloadedSeconds * 1000))
}

async function sampled(witness: Witness, work: () => Promise<unknown>): Promise<Samples> {
  witness.begin()
  await work()
  return witness.end()
}

interface Stage {
  readonly gateway: GatewayProcess
  readonly witness: Witness
  readonly isAlone: boolean
}

/**
 * Address that an attacker connects from. Other addresses of the loopback network need configuration on systems other than
 * Linux.
 */
function addressOf({ addresses }: AttackOptions, attack: Attack, isAlone: boolean, at: number): string {
  if (isAlone || process.platform !== 'linux') return '127.0.0.1'
  if (addresses === 'own') return `127.0.1.${1 + at}`
  return attack.isFromElsewhere === true && addresses !== 'same' ? '127.0.0.2' : '127.0.0.1'
}

async function attackOnce(
  options: AttackOptions,
  attack: Attack,
  { gateway, witness, isAlone }: Stage,
): Promise<Omit<Run, 'after'>> {
  const { target, seconds } = options
  const over = new AbortController()
  setMaxListeners(0, over.signal)
  const statuses: Statuses = new Map()
  const attackers = Array.from({ length: isAlone ? 1 : connectionsOf(attack) }, (_, at) => {
    const localAddress = addressOf(options, attack, isAlone, at)
    return createAttacker({ port: gateway.port, target, isAlone, over: over.signal, statuses, localAddress })
  })
  const progress = { carriedOut: 0 }
  const carryOut = async (at: number): Promise<void> => {
    const attacker = attackers[at]?.attacker
    if (attacker === undefined) return
    do {
      await attack.carryOut(attacker)
      progress.carriedOut++
      await nextIteration()
    } while (!isAlone && !attacker.isOver())
  }
  const samples = await sampled(witness, async () => {
    const carried = Promise.all(attackers.map((_, at) => carryOut(at)))
    await Promise.all([Promise.race([carried, wait(seconds * 1000)]), wait(leastSeconds * 1000)])
    const deadline = performance.now() + maxSeconds * 1000
    while (!isAlone && progress.carriedOut < (attack.atLeast ?? 0) && performance.now() < deadline)
      await wait(pollMilliseconds)
    // Those that still wait for an answer are left waiting while honest clients are answered.
    over.abort()
  })
  for (const { close } of attackers) close()
  return { samples, statuses }
}

/** Memory when it has come down to its bound, or the least that was seen in a while. */
async function settledMemory(
  gateway: GatewayProcess,
  { memory, memoryOf }: AttackBounds,
  before: number,
  ended: { readonly byItself: boolean },
): Promise<number> {
  let least = Infinity
  for (let reading = 0; reading < settleReadings; reading++) {
    await wait(settleMilliseconds)
    const told = await readWithin(gateway, ended)
    if (told === null) return NaN
    least = Math.min(least, told[memoryOf])
    if (least <= before + memory / 2) break
  }
  return least
}

/** Null where the gateway is gone, or tells nothing in a long time. */
async function readWithin(gateway: GatewayProcess, ended: { readonly byItself: boolean }): Promise<Reading | null> {
  if (ended.byItself) return null
  const late = wait(readingSeconds * 1000, null, { ref: false })
  return Promise.race([gateway.read(), late]).catch(() => null)
}

interface Outcome {
  readonly attack: Attack
  readonly bounds: AttackBounds
  readonly unloaded: Samples
  readonly before: number
  readonly runs: readonly Run[]
  /** Whether the gateway has ended by itself. */
  readonly isGone: boolean
}

function resultOf({ attack, bounds, unloaded, before, runs, isGone }: Outcome): AttackResult {
  const worst = (of: (samples: Samples) => number): number => Math.max(...runs.map(({ samples }) => of(samples)))
  const health = worst(({ health }) => Math.max(...health))
  const snapshots = worst(({ snapshots }) => quantile(snapshots, 0.99))
  const queries = worst(({ queries }) => quantile(queries, 0.5))
  const failed = runs.reduce((sum, { samples }) => sum + samples.failed, 0)
  const grown = Math.max(...runs.map(({ after }) => after - before))
  const statuses = statusesOf(runs)
  const isOver = (value: number, bound: number, flaw: string): string[] => (value > bound ? [flaw] : [])
  const byDocuments = attack.fault === 'documents never asked'
  const megabytes = [before, ...runs.map(({ after }) => after)].map((bytes) => Math.round(bytes / 1e6)).join(' > ')
  const figures = [
    `health ${inColumn(health)}`,
    `snapshots p99 ${inColumn(snapshots)}`,
    `new queries p50 ${inColumn(queries)}`,
    `MB ${megabytes.padEnd(15)}`,
    `${failed === 0 ? '' : `${failed} honest requests failed; `}${inWords(statuses)}`,
    attack.fault,
    `(unloaded ${Math.round(Math.max(...unloaded.health))}, ${Math.round(quantile(unloaded.snapshots, 0.99))} and ${Math.round(quantile(unloaded.queries, 0.5))} ms)`,
  ]
  return {
    figures: figures.join('  '),
    flaws: [
      ...(isGone ? ['the gateway ended'] : []),
      ...isOver(health, bounds.health, `/health took ${Math.round(health)} ms, more than ${Math.round(bounds.health)}`),
      ...isOver(
        snapshots,
        bounds.snapshots,
        `the snapshots' p99 is ${Math.round(snapshots)} ms, more than ${Math.round(bounds.snapshots)}`,
      ),
      ...(byDocuments
        ? isOver(
            queries,
            bounds.queries,
            `the median of new queries is ${Math.round(queries)} ms, more than ${Math.round(bounds.queries)}`,
          )
        : []),
      ...(grown <= bounds.memory
        ? []
        : [`memory went ${megabytes} MB, more than ${Math.round(bounds.memory / 1e6)} up`]),
      ...isOver(failed, 0, `${failed} honest requests failed`),
      ...isOver(statuses.get(500) ?? 0, 0, `${statuses.get(500) ?? 0} answers were 500`),
    ],
  }
}

function inColumn(milliseconds: number): string {
  return `${Math.round(milliseconds)} ms`.padStart(9)
}

function statusesOf(runs: readonly Run[]): Statuses {
  const all: Statuses = new Map()
  for (const { statuses } of runs) {
    for (const [status, count] of statuses) all.set(status, (all.get(status) ?? 0) + count)
  }
  return all
}

function inWords(statuses: Statuses): string {
  if (statuses.size === 0) return 'none answered'
  return [...statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${count} x ${status === 0 ? 'cut' : status}`)
    .join(', ')
}
