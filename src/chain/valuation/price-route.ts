import type { Address } from 'viem'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import { poolAbi } from '../venues/pool.ts'

/** The pools that lead from a token to a token with a known price. */
export interface PriceRoute {
  readonly hops: readonly Hop[]
  /** The token at the end of the route. */
  readonly end: Address
  /** Decimals of the token, minus those of the token at the end. */
  readonly shift: number
}

interface Hop {
  readonly pool: Address
  /** Whether the hop starts from the pool's token0, of which the pool's price is. */
  readonly direct: boolean
}

/** A token, and the pools of its route. */
export interface RouteConfig {
  readonly address: Address
  readonly pools: readonly Address[]
}

/** The problem of a configured route. */
export interface RouteProblem {
  readonly reason: string
  /** Whether a contract does not answer, so that it may exist at another block. */
  readonly isAbsent: boolean
}

/** A configured route, resolved once at the first block at which its pools answer: their tokens never change. */
export interface LazyPriceRoute {
  /** Returns the route; null where it is not resolved yet, and a pool does not answer at this block. */
  at(state: BlockState): Promise<PriceRoute | null>
  /** Returns the problem of the route at a block; null where there is none, or the route was resolved before. */
  find(state: BlockState): Promise<RouteProblem | null>
}

/**
 * Creates the price route of a token.
 * @param decimals of the token
 * @param quotes decimals of the tokens at which the route may end, by address
 */
export function createPriceRoute(
  token: RouteConfig,
  decimals: number,
  quotes: ReadonlyMap<Address, number>,
): LazyPriceRoute {
  let known: PriceRoute | null = null
  const resolve = async (state: BlockState): Promise<RouteProblem | null> => {
    if (known !== null) return null
    const found = await readRoute(state, token, decimals, quotes)
    if ('reason' in found) return found
    known = found
    return null
  }
  return {
    find: resolve,
    async at(state) {
      await resolve(state)
      return known
    },
  }
}

async function readRoute(
  state: BlockState,
  { address, pools }: RouteConfig,
  decimals: number,
  quotes: ReadonlyMap<Address, number>,
): Promise<PriceRoute | RouteProblem> {
  const sides = await Promise.all(pools.map((pool) => sidesOf(state, pool)))
  const hops: Hop[] = []
  let at = address
  for (const [index, pool] of pools.entries()) {
    const pair = sides[index] ?? null
    if (pair === null) return { reason: `names ${pool}, which is no pool`, isAbsent: true }
    if (!pair.hasPrice) return { reason: `names the pool ${pool}, which doesn't answer slot0()`, isAbsent: false }
    if (!pair.tokens.includes(at))
      return { reason: `names the pool ${pool}, which doesn't hold ${at}`, isAbsent: false }
    hops.push({ pool, direct: pair.tokens[0] === at })
    at = pair.tokens[0] === at ? pair.tokens[1] : pair.tokens[0]
  }
  const ofEnd = quotes.get(at)
  return ofEnd === undefined
    ? { reason: `leads to ${at}, which is no stable token of this list`, isAbsent: false }
    : { hops, end: at, shift: decimals - ofEnd }
}

interface PoolSides {
  readonly tokens: readonly [Address, Address]
  /** Whether the pool answers `slot0`, as pools of Uniswap v3 and its forks do. */
  readonly hasPrice: boolean
}

async function sidesOf(state: BlockState, pool: Address): Promise<PoolSides | null> {
  const [slot0, token0, token1] = await Promise.all([
    state.read(contractCall(poolAbi, pool, 'slot0', [])),
    state.read(contractCall(poolAbi, pool, 'token0', [])),
    state.read(contractCall(poolAbi, pool, 'token1', [])),
  ])
  return token0 === null || token1 === null ? null : { tokens: [token0, token1], hasPrice: slot0 !== null }
}
