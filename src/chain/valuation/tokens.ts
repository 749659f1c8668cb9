import type { Address } from 'viem'
import { Decimal, one } from '../../domain/decimal.ts'
import { BadChainConfig, ContractMismatch } from '../errors.ts'
import type { ChainConfig } from '../config.ts'
import { type BlockState, contractCall } from '../rpc/multicall.ts'
import { createPriceRoute, type LazyPriceRoute, type PriceRoute, type RouteProblem } from './price-route.ts'
import { tokenAbi } from '../vaults/vault-events.ts'
import { poolAbi, priceOf } from '../venues/pool.ts'
import type { PositionTerms } from '../venues/venue.ts'

/** Decimals of a price in a fact. */
const priceScale = 18

/** A token with its decimals. */
export interface Token {
  readonly address: Address
  readonly symbol: string
  readonly decimals: number
  readonly stable: boolean
  /** Returns the pools from this token to a stable token; null while one of them was never found to answer. */
  readonly routeAt: (state: BlockState) => Promise<PriceRoute | null>
}

/** The configured tokens, by address. */
export type Tokens = ReadonlyMap<Address, Token>

/** Price of one whole token in USD, by symbol, rounded half-even to 18 decimals. */
export type TokenPrices = ReadonlyMap<string, Decimal>

/**
 * Reads the decimals of tokens, and checks their price routes.
 * @param newest state at the newest block
 * @param older returns states of the history, where pools that do not answer now are looked for; null for a chain that
 *   was read with the same tokens before, so that such a pool has vanished
 * @param onAbsent called with the problem of each token whose pools never answered: it has no price as long as they don't
 * @throws {BadChainConfig} with every problem
 */
export async function readTokens(
  file: string,
  { tokens }: ChainConfig,
  newest: BlockState,
  older: (() => Promise<readonly BlockState[]>) | null,
  onAbsent: (problem: string) => void,
): Promise<Tokens> {
  const decimals = await Promise.all(
    tokens.map(({ address }) => newest.read(contractCall(tokenAbi, address, 'decimals', []))),
  )
  const stables = new Map(
    tokens.flatMap(({ address, price }, index) =>
      price === 'stable' ? [[address, decimals[index] ?? 0] as const] : [],
    ),
  )
  const routes = tokens.map((token, index) => createPriceRoute(token, decimals[index] ?? 0, stables))
  const routeProblems = await findRoutes(routes, newest, older)
  const problems = tokens.flatMap((_, index) => {
    const problem = routeProblems[index] ?? null
    return [
      ...decimalsProblem(decimals[index] ?? null).map((text) => `tokens[${index}].address ${text}`),
      ...(problem === null || problem.isAbsent ? [] : [`tokens[${index}].price ${problem.reason}`]),
    ]
  })
  if (problems.length > 0) throw new BadChainConfig(file, problems)
  routeProblems.forEach((problem, index) => {
    if (problem !== null) onAbsent(`tokens[${index}].price ${problem.reason}`)
  })
  return new Map(
    tokens.map(({ address, symbol, price }, index) => {
      const routeAt = (state: BlockState) => (routes[index] as (typeof routes)[number]).at(state)
      return [address, { address, symbol, decimals: decimals[index] ?? 0, stable: price === 'stable', routeAt }]
    }),
  )
}

/** Returns the problem of each route; null for one without. */
async function findRoutes(
  routes: readonly LazyPriceRoute[],
  newest: BlockState,
  older: (() => Promise<readonly BlockState[]>) | null,
): Promise<(RouteProblem | null)[]> {
  const now = await Promise.all(routes.map((route) => route.find(newest)))
  if (older !== null && now.some((problem) => problem?.isAbsent === true)) {
    for (const state of await older()) await Promise.all(routes.map((route) => route.at(state)))
  }
  return Promise.all(routes.map((route) => route.find(newest)))
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

async function priceAt(state: BlockState, { routeAt, stable }: Token): Promise<Decimal | null> {
  if (stable) return one
  const route = await routeAt(state)
  if (route === null) return null
  const roots = await Promise.all(route.hops.map(({ pool }) => state.read(contractCall(poolAbi, pool, 'slot0', []))))
  let price = new Decimal(10).pow(route.shift)
  for (const [index, { direct }] of route.hops.entries()) {
    const root = roots[index]?.[0] ?? 0n
    if (root === 0n) return null
    price = direct ? price.times(priceOf(root)) : price.div(priceOf(root))
  }
  return price.toDecimalPlaces(priceScale)
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
