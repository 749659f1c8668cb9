import { day, demoMarket, hour } from './market.ts'
import { type DemoVault, demoVaultFacts } from './vault.ts'
import type { FactInput } from '../fact/fact.ts'

const spanDays = 45

/** One vault for each status. */
const vaults: readonly DemoVault[] = [
  { name: 'first', strategy: 'eth-core', width: 0.25, age: 44, usdc: 250_000, weth: 40, ending: 'earning' },
  { name: 'second', strategy: 'eth-tight', width: 0.04, age: 44, usdc: 80_000, weth: 0, ending: 'attention' },
  { name: 'third', strategy: 'eth-core', width: 0.2, age: 40, usdc: 0, weth: 60, ending: 'suspended' },
  { name: 'fourth', strategy: 'eth-tight', width: 0.08, age: 36, usdc: 120_000, weth: 10, ending: 'exiting' },
  { name: 'fifth', strategy: 'eth-core', width: 0.15, age: 30, usdc: 45_000, weth: 0, ending: 'idle' },
  { name: 'sixth', strategy: 'eth-wide', width: 0.3, age: 1, usdc: 30_000, weth: 0, ending: 'planting' },
]

/**
 * Returns the facts of a demo feed: six vaults over 45 days. The same time yields the same facts, any other time the
 * same amounts.
 * @param nowSeconds the facts end at the last full hour before it, in Unix seconds
 */
export function demoFacts(nowSeconds: number): FactInput[] {
  const end = Math.floor(nowSeconds / hour) * hour
  const start = end - spanDays * day
  const market = demoMarket(start, end)
  const facts = vaults.flatMap((vault) => demoVaultFacts(vault, market, end))
  return [...catalogue(start), screen(start), ...facts.sort((a, b) => a.ts - b.ts)]
}

function catalogue(ts: number): FactInput[] {
  const entries = [
    [
      'eth-core',
      'Ether Core',
      'A wide range around the market, moved seldom.',
      'Provides WETH/USDC liquidity in a broad band.',
    ],
    [
      'eth-tight',
      'Ether Tight',
      'A narrow range that follows the price.',
      'Provides WETH/USDC liquidity in a narrow band.',
    ],
    [
      'eth-wide',
      'Ether Wide',
      'Started lately; no realised figures yet.',
      'Provides WETH/USDC liquidity in a very wide band.',
    ],
  ] as const
  return entries.map(([id, name, tagline, description]) => ({ kind: 'strategy', ts, id, name, tagline, description }))
}

function screen(ts: number): FactInput {
  const both = ['uniswap-v3', 'aerodrome']
  const ether = [{ a: 'WETH', b: 'USDC', venues: both }]
  return {
    kind: 'screen',
    ts,
    assets: [
      { symbol: 'WETH', name: 'Wrapped Ether', category: 'major', venues: both, liquidityUsd: '184220113.51' },
      { symbol: 'USDC', name: 'USD Coin', category: 'stable', venues: both, liquidityUsd: '143880021.07' },
      { symbol: 'WBTC', name: 'Wrapped Bitcoin', category: 'major', venues: ['uniswap-v3'], liquidityUsd: '61200450' },
      {
        symbol: 'AAPLx',
        name: 'Apple tokenized',
        category: 'stock token',
        venues: ['aerodrome'],
        liquidityUsd: '2100340.5',
      },
      { symbol: 'PEPE', name: 'Pepe', category: 'meme', venues: ['uniswap-v3'], liquidityUsd: '910022.25' },
    ],
    pairs: [
      { a: 'WETH', b: 'USDC', venues: both, tvlUsd: '143220110.2', emissions: true },
      { a: 'WBTC', b: 'WETH', venues: ['uniswap-v3'], tvlUsd: '40120330', emissions: false },
      { a: 'AAPLx', b: 'USDC', venues: ['aerodrome'], tvlUsd: '1900220.75', emissions: true },
      { a: 'PEPE', b: 'WETH', venues: ['uniswap-v3'], tvlUsd: '700100', emissions: false },
    ],
    strategies: {
      'eth-core': ether,
      'eth-tight': ether,
      'eth-wide': [...ether, { a: 'WBTC', b: 'WETH', venues: ['uniswap-v3'] }],
    },
  }
}
