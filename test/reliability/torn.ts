import { setTimeout as wait } from 'node:timers/promises'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { feedText } from '../support/feeds.ts'
import type { Homes } from '../support/home.ts'
import { apply, deposit, event, mark, midnight, opened, strategy, vaultA, vaultB } from '../support/world.ts'
import { type Client, createClient, graphqlRequest, type HttpRequest } from './client.ts'
import { toMicroUsd } from './feed-history.ts'
import { errorLogLines, type GatewayProcess, startGateway } from './gateway.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'

const readers = 8
const strategyId = 'numbered'
/** Vault that is marked with each number; the rare vaults are marked with every fifth, after it. */
const frequentVault = vaultA
const rareVaults = [vaultB, `0x${'c3'.repeat(20)}`]
const rareEvery = 5
/** A mark with a multiple of this number is followed by a ledger row. */
const rowEvery = 10
const start = midnight + 1_000
/** Minimum number of states of the frequent vault that readers must have seen, so that the run proves something. */
const minStates = 20

/**
 * Interval between two marks of the frequent vault, by engine. PGlite needs some 20 ms for a transaction, in the thread
 * that serves responses: with a shorter interval, only one response would fit between two commits.
 */
export const markIntervalMilliseconds = { postgresql: 10, pglite: 100 } as const

/** Options of the program `torn`. */
interface TornOptions {
  readonly homes: Homes
  /** Number of responses, with the response cache and without it. */
  readonly responses: number
  /** Interval between two marks of the frequent vault. */
  readonly markIntervalMilliseconds: number
  readonly reportProgress: ReportProgress
}

/**
 * Reads vaults while they are marked continuously. Each mark has one number in value, time, range, rewards and fees, so
 * that a response that mixes two committed states (a torn read) shows two numbers.
 */
export async function torn({ reportProgress, ...options }: TornOptions): Promise<ProgramResult> {
  const measurements: Record<string, number> = {}
  const violations: string[] = []
  for (const cacheMegabytes of ['64', '0']) {
    const cached = cacheMegabytes === '0' ? 'uncached' : 'cached'
    const totals = await readWhileMarked(options, cacheMegabytes, (count) =>
      reportProgress(`${cached}: ${count} responses`),
    )
    Object.assign(measurements, {
      [`responses, ${cached}`]: totals.responses,
      [`torn responses, ${cached}`]: totals.torn,
      [`responses whose status contradicts inRange, ${cached}`]: totals.contradictions,
      [`states of the frequent vault, ${cached}`]: totals.states,
      [`responses repeated in a snapshot, ${cached}`]: totals.repeated,
    })
    violations.push(...totals.violations.map((violation) => `${violation}, ${cached}`))
  }
  return { measurements, violations }
}

/** Counts of all readers. */
interface TornTotals {
  responses: number
  torn: number
  contradictions: number
  states: number
  repeated: number
  readonly violations: string[]
}

/** Reads from a gateway while the vaults are marked, until there are enough responses. */
async function readWhileMarked(
  { homes, responses, markIntervalMilliseconds }: Omit<TornOptions, 'reportProgress'>,
  cacheMegabytes: string,
  reportProgress: (count: number) => void,
): Promise<TornTotals> {
  const home = await homes.create()
  const database = await home.open()
  await apply(database, initialFacts())
  await database.close()
  const gateway = await startGateway(['--feed', '-'], { ...home.env, CACHE_MEGABYTES: cacheMegabytes })
  const totals: TornTotals = { responses: 0, torn: 0, contradictions: 0, states: 0, repeated: 0, violations: [] }
  const seen = new Set<number>()
  const client = createClient(gateway.port, readers)
  const stop = { isOver: false }
  const marking = markRepeatedly(gateway, markIntervalMilliseconds, stop)
  const read = async (reader: number): Promise<void> => {
    for (let index = reader; totals.responses < responses || seen.size < minStates; index++) {
      const { name, request } = namedRequests[index % namedRequests.length] as NamedRequest
      const { status, body } = await client.send(request)
      const vaults = status === 200 ? findVaults(JSON.parse(body)) : []
      const violations =
        vaults.length === 0
          ? [`${status}: ${body}`]
          : [...vaults.flatMap(vaultStateViolations), ...listStateViolations(vaults)]
      for (const vault of vaults) if (isFrequentVault(vault)) seen.add(vault.updatedAt)
      totals.responses++
      if (violations.length > 0) {
        totals.torn++
        totals.violations.push(`${name}: ${violations.join('; ')}`)
      }
      if (vaults.some(hasContradictoryStatus)) totals.contradictions++
      if (totals.responses % 500 === 0) reportProgress(totals.responses)
    }
  }
  try {
    await Promise.all(Array.from({ length: readers }, (_, reader) => read(reader)))
    totals.repeated = await repeatedExecutions(client)
  } catch (error) {
    totals.violations.push(`no response: ${(error as Error).message}`)
  } finally {
    stop.isOver = true
    client.close()
  }
  const { status, signal, ...outcome } = await gateway.stop()
  await marking
  if (status !== 0) totals.violations.push(`The gateway exited with ${String(status ?? signal)}`)
  totals.violations.push(...errorLogLines({ status, signal, ...outcome }).map((line) => `The gateway logged ${line}`))
  return Object.assign(totals, { states: seen.size })
}

/** Returns the facts that exist before the marks. */
function initialFacts(): FactInput[] {
  const open = (vault: string): FactInput[] => [opened(vault, strategyId), deposit(vault, midnight + 1, '1')]
  return [
    strategy(strategyId),
    ...[frequentVault, ...rareVaults].flatMap((vault) => [...open(vault), ...numberedFacts(vault, 0)]),
  ]
}

/** Returns the facts of a vault for one number: a mark, and for some numbers a ledger row. */
function numberedFacts(vault: string, number: number): FactInput[] {
  const ts = start + number
  const text = String(number + 1_000)
  const current = `${number + 1_000 + (isInRange(number) ? 0 : 9)}.5`
  const position = {
    id: 'p',
    pool: { a: 'WETH', b: 'USDC', venue: 'uniswap-v3', feeTier: 500 },
    range: { lower: text, upper: String(number + 1_001), current },
    pendingRewardsUsd: text,
  }
  const fees = { contributedUsd: text, withdrawnUsd: '0', taxedUsd: '0', highWaterUsd: text }
  return [mark(vault, ts, text, { positions: [position], fees }), ...numberedLedgerRows(vault, number, ts)]
}

/** Returns the ledger row of a number, if it has one. */
function numberedLedgerRows(vault: string, number: number, ts: number): FactInput[] {
  if (number % rowEvery !== 0) return []
  if (number % 100 === 50) return [event(vault, ts, { type: 'suspend', reason: `at ${number}` })]
  if (number % 100 === 60) return [event(vault, ts, { type: 'resume' })]
  return [event(vault, ts, { type: 'harvest', amountUsd: '1', positionId: 'p' })]
}

function isInRange(number: number): boolean {
  return number % 2 === 0
}

/** Writes the facts of one number after another to the gateway's standard input, no faster than it reads them. */
async function markRepeatedly(
  { input }: GatewayProcess,
  markIntervalMilliseconds: number,
  stop: { isOver: boolean },
): Promise<void> {
  for (let number = 1; !stop.isOver; number++) {
    const facts = [frequentVault, ...(number % rareEvery === 0 ? rareVaults : [])].flatMap((vault) =>
      numberedFacts(vault, number),
    )
    // An error means that the gateway has exited.
    await new Promise((resolve) => input.write(feedText(facts), resolve))
    await wait(markIntervalMilliseconds)
  }
}

/** A vault in a response of REST (`vault`) or GraphQL (`address`). */
interface NumberedVault {
  readonly vault?: string
  readonly address?: string
  readonly status: string
  readonly valueUsd: number
  readonly capitalInUsd: number
  readonly capitalOutUsd: number
  readonly netUsd: number
  readonly strategyDeltaUsd: number
  readonly marketDeltaUsd: number
  readonly positions: readonly {
    readonly range: { readonly lower: number; readonly upper: number; readonly current: number }
    readonly inRange: boolean
    readonly pendingRewardsUsd: number
  }[]
  readonly fees: { readonly contributedUsd: number; readonly highWaterUsd: number }
  readonly suspension: { readonly since: number } | null
  readonly updatedAt: number
  readonly equity?: readonly { readonly ts: number; readonly valueUsd: number }[]
  readonly events?: { readonly nodes: readonly { readonly ts: number }[] }
}

/** Returns the parts of a vault that belong to different states, and violated invariants. */
function vaultStateViolations(vault: NumberedVault): string[] {
  const number = vault.updatedAt - start
  const [position] = vault.positions
  const newest = vault.equity?.at(-1)
  const row = vault.events?.nodes[0]
  const numbers = {
    value: vault.valueUsd - 1_000,
    'lower bound': (position?.range.lower ?? NaN) - 1_000,
    'upper bound': (position?.range.upper ?? NaN) - 1_001,
    current: Math.floor(position?.range.current ?? NaN) - 1_000 - (position?.inRange === true ? 0 : 9),
    rewards: (position?.pendingRewardsUsd ?? NaN) - 1_000,
    'fees contributed': vault.fees.contributedUsd - 1_000,
    'high-water mark': vault.fees.highWaterUsd - 1_000,
    ...(newest && { 'newest point': newest.valueUsd - 1_000, 'time of the newest point': newest.ts - start }),
  }
  const differing = Object.entries(numbers).filter(([, each]) => each !== number)
  const since = row === undefined ? 0 : vault.updatedAt - row.ts
  const isSuspended = vault.status.toLowerCase() === 'suspended'
  return [
    ...differing.map(([name, each]) => `${name} has number ${each}, the vault ${number}`),
    ...(since < 0 || since > rowEvery ? [`the newest row has number ${number - since}, the vault ${number}`] : []),
    ...(isSuspended === (vault.suspension !== null) ? [] : [`status ${vault.status} contradicts suspension`]),
    ...(hasContradictoryStatus(vault)
      ? [`status ${vault.status} contradicts inRange ${String(position?.inRange)}`]
      : []),
    ...(toMicroUsd(vault.netUsd) ===
    toMicroUsd(vault.valueUsd) + toMicroUsd(vault.capitalOutUsd) - toMicroUsd(vault.capitalInUsd)
      ? []
      : [`netUsd is ${vault.netUsd}`]),
    ...(toMicroUsd(vault.strategyDeltaUsd) + toMicroUsd(vault.marketDeltaUsd) === toMicroUsd(vault.netUsd)
      ? []
      : [`strategyDeltaUsd and marketDeltaUsd do not sum to netUsd`]),
  ]
}

/** Tells whether the status contradicts `inRange` of the positions. */
function hasContradictoryStatus({ status, positions }: NumberedVault): boolean {
  const expected = positions.every(({ inRange }) => inRange) ? 'earning' : 'attention'
  return !['suspended', expected].includes(status.toLowerCase())
}

/**
 * Returns the vaults of one response that belong to different states. A rare vault has the newest of its numbers, or
 * the one before if its mark follows that of the frequent vault.
 */
function listStateViolations(vaults: readonly NumberedVault[]): string[] {
  const first = vaults.find(isFrequentVault)
  if (first === undefined) return []
  const number = first.updatedAt - start
  const newest = number - (number % rareEvery)
  const allowed = number % rareEvery === 0 ? [newest, Math.max(0, newest - rareEvery)] : [newest]
  return vaults.flatMap((vault) => {
    const vaultNumber = vault.updatedAt - start
    if (isFrequentVault(vault))
      return vaultNumber === number ? [] : [`the frequent vault has numbers ${number}, ${vaultNumber}`]
    return allowed.includes(vaultNumber) ? [] : [`a rare vault has number ${vaultNumber}, the frequent one ${number}`]
  })
}

function isFrequentVault({ vault, address }: NumberedVault): boolean {
  return (vault ?? address)?.toLowerCase() === frequentVault
}

const stateFields = `address status valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd updatedAt
  positions { range { lower upper current } inRange pendingRewardsUsd } fees { contributedUsd highWaterUsd }
  suspension { since }`
const historyFields = `equity(since: ${midnight}, points: 3) { ts valueUsd } events(first: 1) { nodes { ts } }`

interface NamedRequest {
  readonly name: string
  readonly request: HttpRequest
}

const namedRequests: readonly NamedRequest[] = [
  { name: 'REST snapshot', request: { method: 'GET', target: `/vault/${frequentVault}/snapshot` } },
  {
    name: 'GraphQL vault',
    request: graphqlRequest(
      `{ vault(address: "${frequentVault}") { ${stateFields} ${historyFields} strategy { id } } }`,
    ),
  },
  { name: 'GraphQL list', request: graphqlRequest(`{ vaults(first: 5) { totalCount nodes { ${stateFields} } } }`) },
  {
    name: 'GraphQL strategy with its vaults',
    request: graphqlRequest(
      `{ strategy(id: "${strategyId}") { id liveApr vaults(first: 5) { nodes { ${stateFields} ${historyFields} } } } }`,
    ),
  },
  {
    name: 'GraphQL objects by their ids',
    request: graphqlRequest(
      `{ nodes(ids: ["${frequentVault}", "${strategyId}"]) { ... on Vault { ${stateFields} ${historyFields} } ... on Strategy { vaults { nodes { ${stateFields} } } } } }`,
    ),
  },
  {
    name: 'GraphQL aliases',
    request: graphqlRequest(
      `{ a: vault(address: "${frequentVault}") { ${stateFields} } b: strategies { vaults { nodes { ${stateFields} } } } }`,
    ),
  },
]

/** Returns all vaults in a response, at any depth. */
function findVaults(data: unknown): NumberedVault[] {
  if (typeof data !== 'object' || data === null) return []
  if ('valueUsd' in data && 'positions' in data) return [data as NumberedVault]
  return Object.values(data).flatMap(findVaults)
}

/** Returns the number of operations that were repeated in a snapshot, by /metrics. */
async function repeatedExecutions(client: Client): Promise<number> {
  const { body } = await client.send({ method: 'GET', target: '/metrics' })
  return Number(/^vault_gateway_answers_repeated_total(?:\{[^}]*\})? (\d+)$/m.exec(body)?.[1] ?? 0)
}
