import { type Address, zeroAddress } from 'viem'
import { Decimal, one, roundUsd, usdDigits, zero } from '../../domain/decimal.ts'
import type { FactInput } from '../../feed/fact/fact.ts'
import { checkCount, isListed, readVerified } from '../positions/check-holdings.ts'
import { withCollectable } from './collectable.ts'
import { ContractMismatch } from '../errors.ts'
import type { Holding, VaultHoldings } from '../positions/holding.ts'
import { subtractToZero } from '../positions/position-state.ts'
import { isCoin, type Token, type TokenPrices } from './tokens.ts'
import { readCoinBalance } from './coin-balance.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import { tokenAbi, vaultAbi } from '../vaults/vault-events.ts'
import type { Amounts } from '../venues/liquidity-math.ts'
import type { Position, StoredPosition } from '../venues/venue.ts'
import type { Venues } from '../venues/venues.ts'
import type { VaultKind } from '../vaults/vault-kinds.ts'
import type { TokenAmount, VaultStatement } from '../vaults/vault-adapter.ts'
import { isInRanges, positionsInTotals } from './check-totals.ts'
import { type Market, ValueSum } from './value-sum.ts'

type MarkedPosition = Extract<FactInput, { kind: 'mark' }>['positions'][number]

/** Value of a vault at the end of a block, with its positions. */
export interface VaultValuation {
  readonly valueUsd: Decimal
  readonly positions: MarkedPosition[]
}

/** The market in which vaults are valued, with prices that may still be loading. */
export interface VaultMarket extends Omit<Market, 'prices'> {
  readonly venues: Venues
  readonly prices: Promise<TokenPrices>
}

/** A vault with its kind. */
export interface ValuedVault extends Pick<VaultKind, 'adapter' | 'accounts'> {
  readonly vault: Address
}

/**
 * Values a vault: token balances, and the amounts that its positions would pay out.
 * @param held positions of the vault according to the logs
 * @throws {Contradiction} when the positions in the contracts differ
 * @throws {ContractMismatch} when a contract does not answer as its standard requires
 * @throws {PriceUnavailable} when a held token has no price, or the value exceeds the greatest of a fact
 */
export async function valueVault(
  state: BlockState,
  { venues, tokens, prices, gifts }: VaultMarket,
  { vault, adapter, accounts }: ValuedVault,
  held: VaultHoldings,
): Promise<VaultValuation> {
  const refusal = held.positions.find((one) => one.refusal !== undefined)?.refusal
  if (refusal !== undefined) throw new ContractMismatch(vault, state.block.number, refusal)
  const listed = held.positions.filter((one) => isListed(venues, one))
  // These calls are made in one event-loop iteration, so that they share one request.
  const [balances, own, statement, pricesNow] = await Promise.all([
    // The vault's own shares are no asset of it.
    Promise.all(
      [...tokens.values()].flatMap((token) => (token.address === vault ? [] : balanceOf(state, token, accounts))),
    ),
    Promise.all(held.positions.map((holding) => positionAt(state, venues, holding))),
    adapter.readStatement(state, vault, held.requests),
    prices,
    checkCount(state, venues, { vault, accounts }, held),
    Promise.all(listed.map(({ id }) => requireOwn(state, vault, id))),
  ])
  const named = await readNamed(state, venues, statement, held)
  const contents = { vault, statement, balances, positions: [...own, ...named] }
  const counted = positionsInTotals(state.block.number, contents)
  const market = { tokens, prices: pricesNow, ...(gifts && { gifts }) }
  const sum = new ValueSum(market)
  for (const { token, units } of balances) sum.add(token, units)
  for (const { token, units } of statement.debts) sum.add(token, -units)
  const positions = withCollectable(counted.filter(isValued))
  for (const { token0, token1, amounts, collectable, emissions } of positions) {
    sum.add(token0, amounts[0] + collectable[0])
    sum.add(token1, amounts[1] + collectable[1])
    if (emissions !== null) sum.addEarned(emissions.token, emissions.units)
  }
  const valueUsd = sum.rounded()
  // Pending deposit requests are a debt; with a fee-on-transfer token it exceeds the received amount.
  const isOfNobody =
    valueUsd.lessThan(zero) && (await state.readRequired(contractCall(vaultAbi, vault, 'totalSupply', []))) === 0n
  return {
    valueUsd: storableUsd(state, vault, isOfNobody ? zero : valueUsd),
    positions: positions.filter(isOpen).map((position) => toMarkedPosition(position, market)),
  }
}

/**
 * Rounds an amount of a vault as in facts, and verifies its limits.
 * @throws {ContractMismatch} where the amount is below 0, or has more digits than a fact can have
 */
export function storableUsd(state: BlockState, vault: Address, usd: Decimal): Decimal {
  const rounded = roundUsd(usd)
  if (!rounded.lessThan(zero) && rounded.lessThan(`1e${usdDigits}`)) return rounded
  throw new ContractMismatch(vault, state.block.number, `would be worth ${rounded.toFixed()} USD`)
}

interface HeldPosition extends Position {
  readonly id: string
  readonly isEmpty: false
  /** Withdrawn liquidity that is not collected yet: principal, not fees. */
  readonly freed: Amounts
}

/** A position that holds nothing. */
interface EmptyPosition extends StoredPosition, Pick<Position, 'amounts'> {
  readonly id: string
  readonly isEmpty: true
}

function isValued(position: HeldPosition | EmptyPosition): position is HeldPosition {
  return !position.isEmpty
}

type PayingPosition = ReturnType<typeof withCollectable<HeldPosition>>[number]

async function balanceOf(state: BlockState, token: Token, accounts: readonly Address[]): Promise<TokenAmount> {
  const balances = await Promise.all(
    accounts.map((account) =>
      isCoin(token)
        ? readCoinBalance(state, account)
        : state.readIfThere(contractCall(tokenAbi, token.address, 'balanceOf', [account]), 0n),
    ),
  )
  return { token: token.address, units: balances.reduce((sum, units) => sum + units, 0n) }
}

/** Reads the positions that others created in a vault's name, in ranges that the vault reports as its own. */
function readNamed(
  state: BlockState,
  venues: Venues,
  { totals }: VaultStatement,
  { foreign }: VaultHoldings,
): Promise<(HeldPosition | EmptyPosition)[]> {
  const named = foreign.filter(({ id }) => totals !== null && isInRanges(totals, id))
  return Promise.all(named.map((holding) => positionAt(state, venues, holding)))
}

/**
 * Requires that a vault owns a position. A lending vault holds its borrowers' positions, and reports their owner.
 * @throws {ContractMismatch} when the vault reports another owner
 * @see Revert Lend, V3Vault.sol `ownerOf`
 */
async function requireOwn(state: BlockState, vault: Address, id: string): Promise<void> {
  const owner = await state.read(contractCall(vaultAbi, vault, 'ownerOf', [BigInt(id.slice(id.indexOf(':') + 1))]))
  if (owner === null || owner === zeroAddress || owner === vault) return
  throw new ContractMismatch(vault, state.block.number, `holds position ${id} for ${owner}, as a lending vault does,`)
}

/** Reads a position. One that holds nothing, such as a range that the vault has left, is not valued. */
async function positionAt(state: BlockState, venues: Venues, holding: Holding): Promise<HeldPosition | EmptyPosition> {
  const { id, freed, custody } = holding
  const stored = await readVerified(state, venues, holding)
  // A position in custody may have earned emissions.
  if (custody === undefined && !isOpen({ ...stored, emissions: null }))
    return { ...stored, id, isEmpty: true, amounts: [0n, 0n] }
  return { ...(await venues.positionOf(state, id, stored, custody)), id, isEmpty: false, freed }
}

/** Returns whether a position holds anything: its NFT remains after everything was withdrawn. */
function isOpen({ liquidity, credited, emissions }: Pick<Position, 'liquidity' | 'credited' | 'emissions'>): boolean {
  return liquidity > 0n || [...credited, emissions?.units ?? 0n].some((amount) => amount > 0n)
}

function toMarkedPosition(position: PayingPosition, market: Market): MarkedPosition {
  const token0 = market.tokens.get(position.token0) as Token
  const token1 = market.tokens.get(position.token1) as Token
  // The price is quoted in the stable token where one of the two is stable.
  const inverted = token0.stable && !token1.stable
  const price = (units: Decimal): string => {
    const direct = units.times(new Decimal(10).pow(token0.decimals - token1.decimals))
    return (inverted ? one.div(direct) : direct).toDecimalPlaces(18).toFixed()
  }
  const { freed, collectable, emissions } = position
  const { lower, upper, current } = position.prices
  const rewards = new ValueSum(market)
    .add(position.token0, subtractToZero(collectable[0], freed[0]))
    .add(position.token1, subtractToZero(collectable[1], freed[1]))
    .addEarned(emissions?.token ?? position.token0, emissions?.units ?? 0n)
  return {
    id: position.id,
    pool: {
      a: (inverted ? token1 : token0).symbol,
      b: (inverted ? token0 : token1).symbol,
      venue: position.venue,
      feeTier: position.feeTier,
    },
    range: { lower: price(inverted ? upper : lower), upper: price(inverted ? lower : upper), current: price(current) },
    ticks: { ...position.ticks, current: position.currentTick },
    pendingRewardsUsd: rewards.rounded().toFixed(),
  }
}
