import { createHash } from 'node:crypto'
import { Decimal } from '../domain/decimal.ts'
import type { FactInput } from './fact.ts'

/*
 * A demo world: six vaults, one in each status, over 45 days up to a given time. The market is a random walk from a
 * fixed seed, so that the same time gives the same facts.
 */

const hour = 3_600
const day = 24 * hour
const days = 45
const markEvery = 6 * hour
const startPrice = 2_400

interface DemoVault {
  readonly name: string
  readonly strategy: string
  /** Half the width of its range, as a fraction of the price. */
  readonly width: number
  /** Days before the end that it was opened. */
  readonly age: number
  readonly depositUsdc: number
  readonly depositWeth: number
  /** How it ends up. */
  readonly ending: 'earning' | 'attention' | 'suspended' | 'exiting' | 'idle' | 'planting'
}

const vaults: readonly DemoVault[] = [
  { name: 'first', strategy: 'eth-core', width: 0.25, age: 44, depositUsdc: 250_000, depositWeth: 40, ending: 'earning' },
  { name: 'second', strategy: 'eth-tight', width: 0.04, age: 44, depositUsdc: 80_000, depositWeth: 0, ending: 'attention' },
  { name: 'third', strategy: 'eth-core', width: 0.2, age: 40, depositUsdc: 0, depositWeth: 60, ending: 'suspended' },
  { name: 'fourth', strategy: 'eth-tight', width: 0.08, age: 36, depositUsdc: 120_000, depositWeth: 10, ending: 'exiting' },
  { name: 'fifth', strategy: 'eth-core', width: 0.15, age: 30, depositUsdc: 45_000, depositWeth: 0, ending: 'idle' },
  { name: 'sixth', strategy: 'btc-wide', width: 0.3, age: 1, depositUsdc: 30_000, depositWeth: 0, ending: 'planting' },
]

/** The facts of the demo world, in order, the newest at a time in Unix seconds or just before it. */
export function demoFacts(nowSeconds: number): FactInput[] {
  const end = Math.floor(nowSeconds / hour) * hour
  const market = randomWalk(end - days * day, end)
  const facts = [...catalogue(end - days * day), ...vaults.flatMap((vault) => vaultFacts(vault, market, end))]
  return facts.sort((a, b) => a.ts - b.ts)
}

/** The price of WETH in USD at each hour. */
type Market = (ts: number) => number

function randomWalk(from: number, to: number): Market {
  const random = generator(20_260_101)
  const prices: number[] = [startPrice]
  for (let ts = from; ts < to; ts += hour) {
    const step = (random() + random() + random() - 1.5) * 0.011
    prices.push((prices.at(-1) as number) * (1 + step + 0.00004))
  }
  return (ts) => prices[Math.min(prices.length - 1, Math.max(0, Math.floor((ts - from) / hour)))] as number
}

/** Mulberry32: the same numbers on every machine. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function catalogue(ts: number): FactInput[] {
  const both = ['uniswap-v3', 'aerodrome']
  const strategy = (id: string, name: string, tagline: string, description: string): FactInput => ({
    kind: 'strategy',
    ts,
    id,
    name,
    tagline,
    description,
  })
  return [
    strategy('eth-core', 'Ether Core', 'A wide range around the market, moved seldom.', 'Provides WETH/USDC liquidity in a broad band and re-centres it only after a long time outside.'),
    strategy('eth-tight', 'Ether Tight', 'A narrow range that follows the price.', 'Provides WETH/USDC liquidity in a narrow band and re-centres it soon after the price leaves it.'),
    strategy('btc-wide', 'Bitcoin Wide', 'Bitcoin against dollars, in no hurry.', 'Provides WBTC/USDC liquidity in a very wide band.'),
    {
      kind: 'screen',
      ts: ts + hour,
      assets: [
        { symbol: 'WETH', name: 'Wrapped Ether', category: 'major', venues: both, liquidityUsd: '184220113.51' },
        { symbol: 'USDC', name: 'USD Coin', category: 'stable', venues: both, liquidityUsd: '143880021.07' },
        { symbol: 'WBTC', name: 'Wrapped Bitcoin', category: 'major', venues: ['uniswap-v3'], liquidityUsd: '61200450' },
        { symbol: 'AAPLx', name: 'Apple tokenized', category: 'stock token', venues: ['aerodrome'], liquidityUsd: '2100340.5' },
        { symbol: 'PEPE', name: 'Pepe', category: 'meme', venues: ['uniswap-v3'], liquidityUsd: '910022.25' },
      ],
      pairs: [
        { a: 'WETH', b: 'USDC', venues: both, tvlUsd: '143220110.2', emissions: true },
        { a: 'WBTC', b: 'USDC', venues: ['uniswap-v3'], tvlUsd: '40120330', emissions: false },
        { a: 'AAPLx', b: 'USDC', venues: ['aerodrome'], tvlUsd: '1900220.75', emissions: true },
        { a: 'PEPE', b: 'WETH', venues: ['uniswap-v3'], tvlUsd: '700100', emissions: false },
      ],
      strategies: {
        'eth-core': [{ a: 'WETH', b: 'USDC', venues: both }],
        'eth-tight': [{ a: 'WETH', b: 'USDC', venues: both }],
        'btc-wide': [{ a: 'WBTC', b: 'USDC', venues: ['uniswap-v3'] }],
      },
    },
  ]
}

/** A vault on its way: half of it follows the price while in range, and fees accrue on all of it. */
interface Course {
  valueUsd: number
  centre: number
  rewardsUsd: number
  outsideSince: number | null
}

function vaultFacts(vault: DemoVault, market: Market, end: number): FactInput[] {
  const address = `0x${hex(vault.name, 40)}`
  const opened = end - vault.age * day
  const log = eventLog(vault.name, address)
  const prices = (ts: number) => ({ USDC: '1', WETH: fixed(market(ts)) })
  const depositAt = opened + hour
  const price = market(depositAt)
  const depositUsd = usd(new Decimal(vault.depositUsdc).plus(new Decimal(vault.depositWeth).times(fixed(price))))
  const assets = [
    { symbol: 'USDC', amount: String(vault.depositUsdc) },
    { symbol: 'WETH', amount: String(vault.depositWeth) },
  ].filter(({ amount }) => amount !== '0')
  const facts: FactInput[] = [
    { kind: 'vault', ts: opened, vault: address, owner: `0x${hex(`owner of ${vault.name}`, 40)}`, strategy: vault.strategy },
    { ...log(depositAt, 0), type: 'deposit', amountUsd: depositUsd, assets, valueBeforeUsd: '0', prices: prices(depositAt) },
  ]
  const course: Course = { valueUsd: Number(depositUsd), centre: price, rewardsUsd: 0, outsideSince: null }
  if (vault.ending !== 'planting') facts.push({ ...log(depositAt + 600, 1), type: 'plant', positionId: `${vault.name}-1` })
  const lastMark = vault.ending === 'idle' ? end - 2 * day : end
  let position = 1
  let before = price
  for (let ts = depositAt + markEvery; ts <= lastMark; ts += markEvery) {
    const now = market(ts)
    step(course, vault, now / before - 1)
    before = now
    const isOut = Math.abs(now / course.centre - 1) > vault.width
    course.outsideSince = isOut ? (course.outsideSince ?? ts) : null
    const strays = vault.ending === 'attention' && ts === lastMark - day
    if (strays || (course.outsideSince !== null && ts - course.outsideSince >= 2 * markEvery)) {
      position++
      course.centre = strays ? now * (1 + 4 * vault.width) : now
      course.outsideSince = null
      facts.push({ ...log(ts - 600, position), type: 'rebalance', positionId: `${vault.name}-${position}` })
    }
    facts.push(mark(vault, address, ts, course, now, position, prices(ts)))
  }
  return [...facts, ...endingFacts(vault, address, course, lastMark, market, log, position)]
}

function step(course: Course, vault: DemoVault, move: number): void {
  const inRange = course.outsideSince === null
  course.valueUsd *= 1 + move * 0.5
  const earned = inRange ? course.valueUsd * 0.00012 * Math.sqrt(0.1 / vault.width) : 0
  course.rewardsUsd += earned
  course.valueUsd += earned
}

function mark(
  vault: DemoVault,
  address: string,
  ts: number,
  course: Course,
  now: number,
  position: number,
  prices: Record<string, string>,
): FactInput {
  const positions =
    vault.ending === 'planting'
      ? []
      : [
          {
            id: `${vault.name}-${position}`,
            pool: { a: 'WETH', b: 'USDC', venue: 'uniswap-v3', feeTier: 500 },
            range: {
              lower: fixed(course.centre * (1 - vault.width)),
              upper: fixed(course.centre * (1 + vault.width)),
              current: fixed(now),
            },
            pendingRewardsUsd: fixed(course.rewardsUsd),
          },
        ]
  return { kind: 'mark', ts, vault: address, valueUsd: fixed(course.valueUsd), prices, positions }
}

type EventLog = ReturnType<typeof eventLog>

function endingFacts(
  vault: DemoVault,
  address: string,
  course: Course,
  lastMark: number,
  market: Market,
  log: EventLog,
  position: number,
): FactInput[] {
  const prices = { USDC: '1', WETH: fixed(market(lastMark)) }
  const positionId = `${vault.name}-${position}`
  const next = position + 1
  switch (vault.ending) {
    case 'suspended':
      return [{ ...log(lastMark, next), type: 'suspend', reason: 'oracle deviation above 2 %' }]
    case 'exiting':
      return [{ ...log(lastMark, next), type: 'exit', positionId }]
    case 'idle': {
      const valueUsd = fixed(course.valueUsd)
      return [
        { ...log(lastMark + hour, next), type: 'exit', positionId },
        { ...log(lastMark + 2 * hour, next + 1), type: 'withdraw', amountUsd: valueUsd, valueBeforeUsd: valueUsd, prices },
        { kind: 'mark', ts: lastMark + 3 * hour, vault: address, valueUsd: '0', prices, positions: [] },
      ]
    }
    case 'earning':
      return [
        { ...log(lastMark, next), type: 'harvest', positionId, amountUsd: fixed(course.rewardsUsd) },
        { ...log(lastMark, next + 1), type: 'fee', amountUsd: fixed(course.rewardsUsd * 0.1) },
      ]
    case 'planting':
      return [{ ...log(lastMark, next), type: 'plant', positionId }]
    case 'attention':
      return []
  }
}

function eventLog(name: string, vault: string) {
  return (ts: number, logIndex: number) =>
    ({
      kind: 'event',
      ts,
      vault,
      block: Math.floor(ts / 12),
      txHash: `0x${hex(`${name} ${ts} ${logIndex}`, 64)}`,
      logIndex,
    }) as const
}

function hex(text: string, digits: number): string {
  return createHash('sha256').update(`demo ${text}`).digest('hex').slice(0, digits)
}

function fixed(value: number): string {
  return value.toFixed(6)
}

function usd(value: Decimal): string {
  return value.toFixed(6)
}
