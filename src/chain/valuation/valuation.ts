import type { Address } from 'viem'
import { Decimal, one, roundUsd, zero } from '../../domain/decimal.ts'
import type { FactInput } from '../../feed/fact/fact.ts'
import { checkCount, storedAs } from './check-holdings.ts'
import { NoPrice } from '../errors.ts'
import { type Holding, less } from './holdings.ts'
import { amountIn, type TokenPrices, type Token, type Tokens } from './tokens.ts'
import { type BlockState, contractCall } from '../rpc/multicall.ts'
import { tokenAbi } from '../vaults/vault-events.ts'
import type { Amounts } from '../venues/liquidity-math.ts'
import type { Position, Venue } from '../venues/venue.ts'

type MarkedPosition = Extract<FactInput, { kind: 'mark' }>['positions'][number]

/** What a vault is worth at a block, and where its positions stand. */
export interface VaultValuation {
  readonly valueUsd: Decimal
  readonly positions: MarkedPosition[]
}

/** What values are found by: the tokens and their prices at the block. */
export interface Market {
  readonly tokens: Tokens
  readonly prices: TokenPrices
}

/**
 * Values a vault: its idle balances, and what its positions would pay out.
 * @param held its positions as the logs tell them
 * @throws {Contradiction} where the contracts hold other positions than those
 * @throws {NoPrice} where something it holds has none
 */
export async function valueVault(
  state: BlockState,
  { venue, tokens, prices }: { venue: Venue; tokens: Tokens; prices: Promise<TokenPrices> },
  vault: Address,
  held: readonly Holding[],
): Promise<VaultValuation> {
  // Asked for in the same turn, all this is one call.
  const [balances, positions, pricesNow] = await Promise.all([
    Promise.all([...tokens.values()].map((token) => balanceOf(state, token, vault))),
    Promise.all(held.map((holding) => positionAt(state, venue, tokens, holding))),
    prices,
    checkCount(state, venue, vault, held),
  ])
  const market = { tokens, prices: pricesNow }
  const worth = new Worth(market, state.block.number)
  for (const [token, units] of balances) worth.add(token.address, units)
  const open = positions.filter((position) => position !== null)
  for (const { token0, token1, amounts, credited, accrued } of open) {
    worth.add(token0, amounts[0] + credited[0] + accrued[0])
    worth.add(token1, amounts[1] + credited[1] + accrued[1])
  }
  return {
    valueUsd: roundUsd(worth.usd),
    positions: open.filter(isOpen).map((position) => marked(position, venue.name, market, state.block.number)),
  }
}

/** Sums what is held, exactly. */
export class Worth {
  usd: Decimal = zero

  constructor(
    readonly market: Market,
    readonly block: number,
  ) {}

  /** @throws {NoPrice} where there is some of a token without one */
  add(address: Address, units: bigint): this {
    const token = this.market.tokens.get(address)
    if (token === undefined || units === 0n) return this
    const price = this.market.prices.get(token.symbol)
    if (price === undefined) throw new NoPrice(token.symbol, this.block)
    this.usd = this.usd.plus(amountIn(token, units).times(price))
    return this
  }
}

interface HeldPosition extends Position {
  readonly id: string
  readonly rewards: Amounts
}

async function balanceOf(state: BlockState, token: Token, vault: Address): Promise<readonly [Token, bigint]> {
  return [token, (await state.read(contractCall(tokenAbi, token.address, 'balanceOf', [vault]))) ?? 0n]
}

/** Null for one in other tokens than the known ones: anybody can send a vault anything. */
async function positionAt(
  state: BlockState,
  venue: Venue,
  tokens: Tokens,
  holding: Holding,
): Promise<HeldPosition | null> {
  const { id, freed } = holding
  const stored = await storedAs(state, venue, holding)
  if (!tokens.has(stored.token0) || !tokens.has(stored.token1)) return null
  const position = await venue.positionOf(state, stored)
  const { credited, accrued } = position
  const rewards: Amounts = [less(credited[0], freed[0]) + accrued[0], less(credited[1], freed[1]) + accrued[1]]
  return { ...position, id, rewards }
}

/** An NFT stays when all was taken out. */
function isOpen({ liquidity, credited }: Position): boolean {
  return liquidity > 0n || credited.some((amount) => amount > 0n)
}

function marked(position: HeldPosition, venue: string, market: Market, block: number): MarkedPosition {
  const token0 = market.tokens.get(position.token0) as Token
  const token1 = market.tokens.get(position.token1) as Token
  // Prices are told in a stable token, where one of the two is.
  const turned = token0.stable && !token1.stable
  const price = (units: Decimal): string => {
    const straight = units.times(new Decimal(10).pow(token0.decimals - token1.decimals))
    return (turned ? one.div(straight) : straight).toDecimalPlaces(18).toFixed()
  }
  const { lower, upper, current } = position.prices
  const rewards = new Worth(market, block)
    .add(position.token0, position.rewards[0])
    .add(position.token1, position.rewards[1])
  return {
    id: position.id,
    pool: {
      a: (turned ? token1 : token0).symbol,
      b: (turned ? token0 : token1).symbol,
      venue,
      feeTier: position.feeTier,
    },
    range: { lower: price(turned ? upper : lower), upper: price(turned ? lower : upper), current: price(current) },
    ticks: { ...position.ticks, current: position.currentTick },
    pendingRewardsUsd: roundUsd(rewards.usd).toFixed(),
  }
}
