import type { Address } from 'viem'
import type { FactInput } from '../../feed/fact/fact.ts'
import { ContractMismatch, PriceUnavailable } from '../errors.ts'
import type { PositionEvent } from '../positions/holding.ts'
import type { Header } from '../rpc/block.ts'
import { ValueSum } from '../valuation/value-sum.ts'
import { requireToken } from '../valuation/tokens.ts'
import type { TokenAmount, VaultChange } from '../vaults/vault-adapter.ts'
import { feeAssets, readFeeRecipients } from '../vaults/vault-fees.ts'
import type { Amounts } from '../venues/liquidity-math.ts'
import type { StoredPosition } from '../venues/venue.ts'
import type { VaultEvent } from './block-plan.ts'
import type { BlockValues } from './block-values.ts'

/** The fact of an event in the ledger. */
export type LedgerFact = Extract<FactInput, { kind: 'event' }>

/** The fields of an event fact besides its identity and time. */
export type EventFields = LedgerFact extends infer Fact
  ? Fact extends LedgerFact
    ? Omit<Fact, 'kind' | 'ts' | 'vault' | 'block' | 'txHash' | 'logIndex'>
    : never
  : never

/** Returns the fact of a log's event with these fields. */
export function eventFact({ ts }: Header, { vault, log }: VaultEvent | PositionEvent, fields: EventFields): LedgerFact {
  const { block, txHash, logIndex } = log
  return { kind: 'event', ts, vault, block, txHash, logIndex, ...fields }
}

/** Returns the fact of an event other than a deposit or withdrawal; null where the event yields no fact. */
export async function readEventFact(
  values: BlockValues,
  event: VaultEvent | PositionEvent,
): Promise<LedgerFact | null> {
  if ('change' in event) {
    const { change } = event
    if (change.kind === 'minted') return readMintedFee(values, event, change)
    if (change.kind === 'charged' || change.kind === 'earned') return readChargedFee(values, event, change)
    const reason = `Paused${change.kind === 'paused' ? ` by ${change.by}` : ''}`
    return eventFact(values.block, event, change.kind === 'paused' ? { type: 'suspend', reason } : { type: 'resume' })
  }
  return readPositionFact(values, event)
}

/**
 * Returns the fact of a position's change; null for a harvest of nothing.
 * @throws {ContractMismatch} when the amounts that the position pays are unknown
 */
async function readPositionFact(values: BlockValues, event: PositionEvent): Promise<LedgerFact | null> {
  const { type, id: positionId, vault, refusal } = event
  if (refusal !== undefined) throw new ContractMismatch(vault, event.log.block, refusal)
  if (type === 'plant' || type === 'exit') return eventFact(values.block, event, { type, positionId })
  const position = await positionOf(values, positionId)
  const amounts = position && (await amountsOf(values, event))
  if (position === null || amounts === null) return eventFact(values.block, event, { type, positionId })
  if (type === 'harvest' && amounts.every((amount) => amount === 0n)) return null
  const market = { tokens: values.options.tokens, prices: await values.prices() }
  const sum = new ValueSum(market)
  try {
    const amountUsd = sum.add(position.token0, amounts[0]).add(position.token1, amounts[1]).rounded().toFixed()
    return eventFact(values.block, event, { type, positionId, amountUsd })
  } catch (error) {
    // A vault that has acquired a token without a price is set aside by its mark.
    if (error instanceof PriceUnavailable) return eventFact(values.block, event, { type, positionId })
    throw error
  }
}

async function amountsOf(values: BlockValues, { amounts, id, log }: PositionEvent): Promise<Amounts | null> {
  const states = { block: values.block, before: values.before(), after: values.state }
  return amounts ?? (await values.options.venues.amountsOf({ id, log }, states))
}

/**
 * Returns the fee that was paid in minted shares. Null where the shares are not a fee: the account is a fee recipient
 * neither at this block nor at the previous one.
 */
async function readMintedFee(
  values: BlockValues,
  event: VaultEvent,
  { to, shares }: Extract<VaultChange, { kind: 'minted' }>,
): Promise<LedgerFact | null> {
  const { vault } = event
  const states = [values.state, values.before()]
  if (!(await readFeeRecipients(values.options.kinds, vault, states)).includes(to)) return null
  return feeFact(values, event, await inAssets(values, vault, [await feeAssets(values.state, vault, shares)]))
}

/** Returns the fee that a vault pays in tokens; null where it pays none. */
async function readChargedFee(
  values: BlockValues,
  event: VaultEvent,
  { kind, amounts }: Extract<VaultChange, { kind: 'charged' | 'earned' }>,
): Promise<LedgerFact | null> {
  const { vault } = event
  const { adapter } = values.options.kinds.of(vault)
  if (kind === 'charged') return feeFact(values, event, await inAssets(values, vault, amounts))
  const paid = await adapter.readFees(values.state, vault, amounts)
  return paid === null ? null : feeFact(values, event, paid)
}

async function inAssets(values: BlockValues, vault: Address, units: readonly bigint[]): Promise<TokenAmount[]> {
  const assets = await values.assets(vault)
  return assets.map(({ address: token }, index) => ({ token, units: units[index] ?? 0n }))
}

async function feeFact(values: BlockValues, event: VaultEvent, amounts: readonly TokenAmount[]): Promise<LedgerFact> {
  const { vault, log } = event
  const tokens = amounts.map(({ token }) => requireToken(values.options.tokens, token, vault, log.block))
  const units = amounts.map((amount) => amount.units)
  const worth = await values.withEarlierPrices((prices) => Promise.resolve(values.worthOf(tokens, units, prices)))
  return eventFact(values.block, event, { type: 'fee', amountUsd: worth.toFixed() })
}

/**
 * Reads a position at the end of the block, or before the block where it was burned in it. Null where the position was
 * also minted in the block.
 */
async function positionOf(values: BlockValues, id: string): Promise<StoredPosition | null> {
  const { venues } = values.options
  return (await venues.readStored(values.state, id)) ?? (await venues.readStored(values.before(), id))
}
