import type { FactInput } from '../../src/feed/fact/fact.ts'
import { addressOf, deposit, event, mark, midnight, opened, position, strategy } from './world.ts'

/* Facts of a small world: a vault in each status, and strategies with and without realised figures. */

const day = 86_400
/** One more than realised figures need: the vault has no value at the start of the first day. */
const markedDays = 31
const now = midnight + markedDays * day

/** Address of the vault in each status. */
export const vaultThatIs = {
  earning: addressOf(1),
  attention: addressOf(2),
  planting: addressOf(3),
  exiting: addressOf(4),
  idle: addressOf(5),
  suspended: addressOf(6),
} as const

/** A screen whose assets are ordered neither by name nor by amount. */
export const screen: Extract<FactInput, { kind: 'screen' }> = {
  kind: 'screen',
  ts: midnight,
  assets: [
    { symbol: 'WETH', name: 'Ether', category: 'major', venues: ['uniswap-v3', 'aerodrome'], liquidityUsd: '500.5' },
    { symbol: 'AAPLx', name: 'Apple', category: 'stock token', venues: ['aerodrome'], liquidityUsd: '20' },
    { symbol: 'USDC', name: 'Dollar', category: 'stable', venues: ['uniswap-v3'], liquidityUsd: '900' },
    { symbol: 'PEPE', name: 'Pepe', category: 'meme', venues: ['uniswap-v3'], liquidityUsd: '30' },
    { symbol: 'WBTC', name: 'Bitcoin', category: 'major', venues: ['uniswap-v3'], liquidityUsd: '400' },
  ],
  pairs: [
    { a: 'WETH', b: 'USDC', venues: ['uniswap-v3', 'aerodrome'], tvlUsd: '70.25', emissions: true },
    { a: 'AAPLx', b: 'USDC', venues: ['aerodrome'], tvlUsd: '80', emissions: false },
    { a: 'WBTC', b: 'WETH', venues: ['uniswap-v3'], tvlUsd: '10', emissions: false },
  ],
  strategies: {
    seasoned: [
      { a: 'WETH', b: 'USDC', venues: ['uniswap-v3', 'aerodrome'] },
      { a: 'AAPLx', b: 'USDC', venues: ['aerodrome'] },
    ],
    fresh: [{ a: 'WBTC', b: 'WETH', venues: ['uniswap-v3'] }],
  },
}

/** Facts of all vaults and strategies. */
export const everything: readonly FactInput[] = [
  strategy('seasoned'),
  strategy('fresh'),
  screen,
  opened(vaultThatIs.earning, 'seasoned'),
  deposit(vaultThatIs.earning, midnight, '1000'),
  ...Array.from({ length: markedDays }, (_, index) => {
    const valueUsd = (1_000 + index + (index % 3)).toFixed(2)
    return mark(vaultThatIs.earning, midnight + (index + 1) * day, valueUsd, { positions: [position('first')] })
  }),
  opened(vaultThatIs.attention, 'fresh'),
  deposit(vaultThatIs.attention, now, '300'),
  mark(vaultThatIs.attention, now + 1, '290', { positions: [position('in'), position('out', '120')] }),
  opened(vaultThatIs.planting, 'fresh'),
  deposit(vaultThatIs.planting, now, '200'),
  event(vaultThatIs.planting, now + 1, { type: 'plant', positionId: 'next' }),
  opened(vaultThatIs.exiting, 'fresh'),
  deposit(vaultThatIs.exiting, now, '100'),
  mark(vaultThatIs.exiting, now + 1, '101', { positions: [position('last')] }),
  event(vaultThatIs.exiting, now + 2, { type: 'exit', positionId: 'last' }),
  opened(vaultThatIs.idle, 'fresh'),
  opened(vaultThatIs.suspended, 'fresh'),
  deposit(vaultThatIs.suspended, now, '50'),
  mark(vaultThatIs.suspended, now + 1, '51', { positions: [position('only')] }),
  event(vaultThatIs.suspended, now + 2, { type: 'suspend', reason: 'an oracle strays' }),
]
