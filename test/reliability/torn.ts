import { setTimeout as wait } from 'node:timers/promises'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { feedText } from '../support/feeds.ts'
import type { Homes } from '../support/home.ts'
import { apply, deposit, event, mark, midnight, opened, strategy, vaultA, vaultB } from '../support/world.ts'
import { type Asked, type Client, clientOf } from './client.ts'
import { failuresIn, type GatewayProcess, startGateway } from './gateway.ts'
import type { Finding, Say } from './show.ts'

const readers = 8
const strategyId = 'numbered'
/** Marked with each number; the quiet vaults are marked with every fifth, in the same order. */
const busy = vaultA
const quiet = [vaultB, `0x${'c3'.repeat(20)}`]
const quietEvery = 5
/** After a mark with such a number, a ledger row is written. */
const rowEvery = 10
const start = midnight + 1_000
/** Of the busy vault: were few facts committed meanwhile, the answers would show nothing. */
const fewestStates = 20

/**
 * Pause between two marks of the busy vault, by engine. PGlite takes some 20 ms for a transaction, in the thread that
 * answers: marks that come faster leave time for one answer between two commits.
 */
export const stepMilliseconds = { postgresql: 10, pglite: 100 } as const

interface TornOptions {
  readonly homes: Homes
  /** Of each kind of cache: on and off. */
  readonly answers: number
  /** Pause between two marks of the busy vault. */
  readonly stepMilliseconds: number
  readonly say: Say
}

/**
 * Reads vaults while they are marked again and again. Each mark carries one number in value, time, range, rewards
 * and fees, so that an answer which mixes two committed states shows two numbers.
 */
export async function torn({ say, ...options }: TornOptions): Promise<Finding> {
  const figures: Record<string, number> = {}
  const flaws: string[] = []
  for (const cacheMegabytes of ['64', '0']) {
    const cached = cacheMegabytes === '0' ? 'not cached' : 'cached'
    const found = await whileMarked(options, cacheMegabytes, (count) => say(`${cached}: ${count} answers`))
    Object.assign(figures, {
      [`answers, ${cached}`]: found.answers,
      [`of them torn, ${cached}`]: found.torn,
      [`of them of a status that contradicts inRange, ${cached}`]: found.contradictions,
      [`states that one vault was told in, ${cached}`]: found.states,
      [`answers repeated in a snapshot, ${cached}`]: found.repeated,
    })
    flaws.push(...found.flaws.map((flaw) => `${flaw}, ${cached}`))
  }
  return { figures, flaws }
}

interface Found {
  answers: number
  torn: number
  contradictions: number
  states: number
  repeated: number
  readonly flaws: string[]
}

async function whileMarked(
  { homes, answers, stepMilliseconds }: Omit<TornOptions, 'say'>,
  cacheMegabytes: string,
  say: (count: number) => void,
): Promise<Found> {
  const home = await homes.create()
  const database = await home.open()
  await apply(database, beginning())
  await database.close()
  const gateway = await startGateway(['--feed', '-'], { ...home.env, CACHE_MEGABYTES: cacheMegabytes })
  const found: Found = { answers: 0, torn: 0, contradictions: 0, states: 0, repeated: 0, flaws: [] }
  const seen = new Set<number>()
  const client = clientOf(gateway.port, readers)
  const ending = { isOver: false }
  const marking = keepMarking(gateway, stepMilliseconds, ending)
  const read = async (reader: number): Promise<void> => {
    for (let turn = reader; found.answers < answers || seen.size < fewestStates; turn++) {
      const { name, asked } = questions[turn % questions.length] as Question
      const { status, body } = await client.ask(asked)
      const vaults = status === 200 ? vaultsIn(JSON.parse(body)) : []
      const flaws = vaults.length === 0 ? [`${status}: ${body}`] : [...vaults.flatMap(flawsOf), ...flawsBetween(vaults)]
      for (const vault of vaults) if (isBusy(vault)) seen.add(vault.updatedAt)
      found.answers++
      if (flaws.length > 0) {
        found.torn++
        found.flaws.push(`${name}: ${flaws.join('; ')}`)
      }
      if (vaults.some(contradicts)) found.contradictions++
      if (found.answers % 500 === 0) say(found.answers)
    }
  }
  try {
    await Promise.all(Array.from({ length: readers }, (_, reader) => read(reader)))
    found.repeated = await repeatedAnswers(client)
  } catch (error) {
    found.flaws.push(`An answer did not come: ${(error as Error).message}`)
  } finally {
    ending.isOver = true
    client.close()
  }
  const { status, signal, ...outcome } = await gateway.stop()
  await marking
  if (status !== 0) found.flaws.push(`The gateway ended with ${String(status ?? signal)}`)
  found.flaws.push(...failuresIn({ status, signal, ...outcome }).map((line) => `The gateway logged ${line}`))
  return Object.assign(found, { states: seen.size })
}

function beginning(): FactInput[] {
  const open = (vault: string): FactInput[] => [opened(vault, strategyId), deposit(vault, midnight + 1, '1')]
  return [strategy(strategyId), ...[busy, ...quiet].flatMap((vault) => [...open(vault), ...step(vault, 0)])]
}

/** The facts that one number makes of a vault: its mark, and seldom a ledger row. */
function step(vault: string, number: number): FactInput[] {
  const ts = start + number
  const text = String(number + 1_000)
  const current = `${number + 1_000 + (isInRange(number) ? 0 : 9)}.5`
  const own = {
    id: 'p',
    pool: { a: 'WETH', b: 'USDC', venue: 'uniswap-v3', feeTier: 500 },
    range: { lower: text, upper: String(number + 1_001), current },
    pendingRewardsUsd: text,
  }
  const fees = { contributedUsd: text, withdrawnUsd: '0', taxedUsd: '0', highWaterUsd: text }
  return [mark(vault, ts, text, { positions: [own], fees }), ...rowsOf(vault, number, ts)]
}

function rowsOf(vault: string, number: number, ts: number): FactInput[] {
  if (number % rowEvery !== 0) return []
  if (number % 100 === 50) return [event(vault, ts, { type: 'suspend', reason: `at ${number}` })]
  if (number % 100 === 60) return [event(vault, ts, { type: 'resume' })]
  return [event(vault, ts, { type: 'harvest', amountUsd: '1', positionId: 'p' })]
}

function isInRange(number: number): boolean {
  return number % 2 === 0
}

/** Writes the next number's facts in a line each, no faster than the gateway takes them. */
async function keepMarking(
  { input }: GatewayProcess,
  stepMilliseconds: number,
  ending: { isOver: boolean },
): Promise<void> {
  for (let number = 1; !ending.isOver; number++) {
    const facts = [busy, ...(number % quietEvery === 0 ? quiet : [])].flatMap((vault) => step(vault, number))
    // An error means that the gateway has ended.
    await new Promise((resolve) => input.write(feedText(facts), resolve))
    await wait(stepMilliseconds)
  }
}

interface ToldVault {
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

/** Where what is told of one vault is of two states, or breaks an invariant. */
function flawsOf(told: ToldVault): string[] {
  const number = told.updatedAt - start
  const [own] = told.positions
  const newest = told.equity?.at(-1)
  const row = told.events?.nodes[0]
  const numbers = {
    value: told.valueUsd - 1_000,
    'lower bound': (own?.range.lower ?? NaN) - 1_000,
    'upper bound': (own?.range.upper ?? NaN) - 1_001,
    current: Math.floor(own?.range.current ?? NaN) - 1_000 - (own?.inRange === true ? 0 : 9),
    rewards: (own?.pendingRewardsUsd ?? NaN) - 1_000,
    'fees contributed': told.fees.contributedUsd - 1_000,
    'high-water mark': told.fees.highWaterUsd - 1_000,
    ...(newest && { 'newest point': newest.valueUsd - 1_000, 'time of the newest point': newest.ts - start }),
  }
  const others = Object.entries(numbers).filter(([, each]) => each !== number)
  const since = row === undefined ? 0 : told.updatedAt - row.ts
  const isSuspended = told.status.toLowerCase() === 'suspended'
  return [
    ...others.map(([name, each]) => `${name} is of ${each} beside ${number}`),
    ...(since < 0 || since > rowEvery ? [`the newest row is of ${number - since} beside ${number}`] : []),
    ...(isSuspended === (told.suspension !== null) ? [] : [`${told.status} beside the suspension of another state`]),
    ...(contradicts(told) ? [`${told.status} beside inRange ${String(own?.inRange)}`] : []),
    ...(micro(told.netUsd) === micro(told.valueUsd) + micro(told.capitalOutUsd) - micro(told.capitalInUsd)
      ? []
      : [`netUsd is ${told.netUsd}`]),
    ...(micro(told.strategyDeltaUsd) + micro(told.marketDeltaUsd) === micro(told.netUsd)
      ? []
      : [`strategyDeltaUsd and marketDeltaUsd don't sum to netUsd`]),
  ]
}

function contradicts({ status, positions }: ToldVault): boolean {
  const expected = positions.every(({ inRange }) => inRange) ? 'earning' : 'attention'
  return !['suspended', expected].includes(status.toLowerCase())
}

/** Where vaults of one answer are of two states: the quiet ones have the newest number of theirs, or come right after. */
function flawsBetween(vaults: readonly ToldVault[]): string[] {
  const first = vaults.find(isBusy)
  if (first === undefined) return []
  const number = first.updatedAt - start
  const newest = number - (number % quietEvery)
  const allowed = number % quietEvery === 0 ? [newest, Math.max(0, newest - quietEvery)] : [newest]
  return vaults.flatMap((vault) => {
    const own = vault.updatedAt - start
    if (isBusy(vault)) return own === number ? [] : [`one vault is of ${number} and of ${own}`]
    return allowed.includes(own) ? [] : [`a quiet vault is of ${own} beside ${number}`]
  })
}

function isBusy({ vault, address }: ToldVault): boolean {
  return (vault ?? address)?.toLowerCase() === busy
}

/** Micro-dollars of an amount that is small enough for a float. */
function micro(usd: number): number {
  return Math.round(usd * 1e6)
}

const state = `address status valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd updatedAt
  positions { range { lower upper current } inRange pendingRewardsUsd } fees { contributedUsd highWaterUsd }
  suspension { since }`
const past = `equity(since: ${midnight}, points: 3) { ts valueUsd } events(first: 1) { nodes { ts } }`

interface Question {
  readonly name: string
  readonly asked: Asked
}

function graphql(query: string): Asked {
  const headers = { 'content-type': 'application/json', accept: 'application/graphql-response+json' }
  return { method: 'POST', target: '/graphql', headers, body: JSON.stringify({ query }) }
}

const questions: readonly Question[] = [
  { name: 'REST snapshot', asked: { method: 'GET', target: `/vault/${busy}/snapshot` } },
  { name: 'GraphQL vault', asked: graphql(`{ vault(address: "${busy}") { ${state} ${past} strategy { id } } }`) },
  { name: 'GraphQL list', asked: graphql(`{ vaults(first: 5) { totalCount nodes { ${state} } } }`) },
  {
    name: 'GraphQL strategy with its vaults',
    asked: graphql(`{ strategy(id: "${strategyId}") { id liveApr vaults(first: 5) { nodes { ${state} ${past} } } } }`),
  },
  {
    name: 'GraphQL objects by their ids',
    asked: graphql(
      `{ nodes(ids: ["${busy}", "${strategyId}"]) { ... on Vault { ${state} ${past} } ... on Strategy { vaults { nodes { ${state} } } } } }`,
    ),
  },
  {
    name: 'GraphQL aliases',
    asked: graphql(`{ a: vault(address: "${busy}") { ${state} } b: strategies { vaults { nodes { ${state} } } } }`),
  },
]

/** All vaults of an answer, however deep. */
function vaultsIn(data: unknown): ToldVault[] {
  if (typeof data !== 'object' || data === null) return []
  if ('valueUsd' in data && 'positions' in data) return [data as ToldVault]
  return Object.values(data).flatMap(vaultsIn)
}

async function repeatedAnswers(client: Client): Promise<number> {
  const { body } = await client.ask({ method: 'GET', target: '/metrics' })
  return Number(/^vault_gateway_answers_repeated_total(?:\{[^}]*\})? (\d+)$/m.exec(body)?.[1] ?? 0)
}
