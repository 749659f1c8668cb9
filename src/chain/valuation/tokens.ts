import type { Address } from 'viem'
import { Decimal, one } from '../../domain/decimal.ts'
import { BadChainConfig, ContractMismatch } from '../errors.ts'
import type { ChainConfig, TokenConfig } from '../config.ts'
import { type BlockState, contractCall } from '../rpc/multicall.ts'
import { tokenAbi } from '../vaults/vault-events.ts'
import { poolAbi, priceOf } from '../venues/uniswap-v3.ts'
import type { PositionTerms } from '../venues/venue.ts'

/** Decimals of a price in a fact. */
const priceScale = 18

/** A token with its decimals and price route. */
export interface Token {
  readonly address: Address
  readonly symbol: string
  readonly decimals: number
  readonly stable: boolean
  /** Pools from this token to a stable token. */
  readonly hops: readonly Hop[]
  /** Power of ten between the smallest units of this token and of the stable token. */
  readonly shift: number
}

interface Hop {
  readonly pool: Address
  /** Whether the pool's price is that of its token0, from which this hop starts. */
  readonly direct: boolean
}

/** The configured tokens, by address. */
export type Tokens = ReadonlyMap<Address, Token>

/** Price of one whole token in USD, by symbol, rounded half-even to 18 decimals. */
export type TokenPrices = ReadonlyMap<string, Decimal>

/**
 * Reads the decimals of tokens, and resolves their price routes.
 * @throws {BadChainConfig} with every problem
 */
export async function readTokens(file: string, { tokens }: ChainConfig, state: BlockState): Promise<Tokens> {
  const decimals = await Promise.all(
    tokens.map(({ address }) => state.read(contractCall(tokenAbi, address, 'decimals', []))),
  )
  const stables = new Map(
    tokens.flatMap(({ address, price }, index) =>
      price === 'stable' ? [[address, decimals[index] ?? 0] as const] : [],
    ),
  )
  const routes = await Promise.all(tokens.map((token) => routeOf(state, token, stables)))
  const problems = tokens.flatMap((_, index) => {
    const route = routes[index]
    return [
      ...decimalsProblem(decimals[index] ?? null).map((problem) => `tokens[${index}].address ${problem}`),
      ...(typeof route === 'string' ? [`tokens[${index}].price ${route}`] : []),
    ]
  })
  if (problems.length > 0) throw new BadChainConfig(file, problems)
  return new Map(
    tokens.map((token, index) => {
      const { hops, stable } = routes[index] as Route
      const own = decimals[index] ?? 0
      const shift = own - (stables.get(stable) ?? 0)
      const { address, symbol } = token
      return [address, { address, symbol, decimals: own, stable: token.price === 'stable', hops, shift }]
    }),
  )
}

/** Reads the prices of tokens at a block. Tokens without a pool at that block are omitted. */
export async function readPrices(state: BlockState, tokens: Tokens): Promise<TokenPrices> {
  const priced = await Promise.all(
    [...tokens.values()].map(async (token) => [token.symbol, await priceAt(state, token)] as const),
  )
  return new Map(priced.flatMap(([symbol, price]) => (price === null ? [] : [[symbol, price]])))
}

/** Converts an amount in smallest units to whole tokens. */
export function amountIn(token: Pick<Token, 'decimals'>, units: bigint): Decimal {
  return new Decimal(`${units}e-${token.decimals}`)
}

async function priceAt(state: BlockState, { hops, shift, stable }: Token): Promise<Decimal | null> {
  if (stable) return one
  const roots = await Promise.all(hops.map(({ pool }) => state.read(contractCall(poolAbi, pool, 'slot0', []))))
  let price = new Decimal(10).pow(shift)
  for (const [index, { direct }] of hops.entries()) {
    const root = roots[index]?.[0] ?? 0n
    if (root === 0n) return null
    price = direct ? price.times(priceOf(root)) : price.div(priceOf(root))
  }
  return price.toDecimalPlaces(priceScale)
}

interface Route {
  readonly hops: readonly Hop[]
  readonly stable: Address
}

/**
 * Resolves the price route of a token.
 * @returns the route, or its problem
 */
async function routeOf(
  state: BlockState,
  { address, price }: TokenConfig,
  stables: ReadonlyMap<Address, number>,
): Promise<Route | string> {
  if (price === 'stable') return { hops: [], stable: address }
  const pools = await Promise.all(price.map((pool) => sidesOf(state, pool)))
  const hops: Hop[] = []
  let at = address
  for (const [index, sides] of pools.entries()) {
    const pool = price[index] as Address
    if (sides === null) return `names ${pool}, which is no pool`
    if (!sides.includes(at)) return `names the pool ${pool}, which doesn't hold ${at}`
    hops.push({ pool, direct: sides[0] === at })
    at = sides[0] === at ? sides[1] : sides[0]
  }
  return stables.has(at) ? { hops, stable: at } : `leads to ${at}, which is no stable token of this list`
}

async function sidesOf(state: BlockState, pool: Address): Promise<readonly [Address, Address] | null> {
  const [token0, token1] = await Promise.all([
    state.read(contractCall(poolAbi, pool, 'token0', [])),
    state.read(contractCall(poolAbi, pool, 'token1', [])),
  ])
  return token0 === null || token1 === null ? null : [token0, token1]
}

function decimalsProblem(decimals: number | null): string[] {
  if (decimals === null) return ["is no token: it doesn't answer decimals()"]
  return decimals > 18 ? [`is of a token with ${decimals} decimals, and a fact's amounts have at most 18`] : []
}

/** Tells whether both tokens of a position are configured. Anyone can transfer others to a vault. */
export function isInTokens(tokens: Tokens, { token0, token1 }: PositionTerms): boolean {
  return tokens.has(token0) && tokens.has(token1)
}

/**
 * Returns a configured token.
 * @throws {ContractMismatch} when the address is not configured
 */
export function requireToken(tokens: Tokens, address: Address, holder: Address, block: number): Token {
  const token = tokens.get(address)
  if (token === undefined) throw new ContractMismatch(holder, block, `has the asset ${address}, none of the tokens,`)
  return token
}
