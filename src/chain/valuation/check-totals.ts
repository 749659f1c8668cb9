import type { Address } from 'viem'
import { ContractMismatch, Contradiction } from '../errors.ts'
import type { TokenAmount, VaultStatement, VaultTotals } from '../vaults/vault-adapter.ts'
import { parsePoolPositionId } from '../venues/pool-positions.ts'
import type { Position } from '../venues/venue.ts'

type TotalledPosition = Pick<Position, 'amounts' | 'credited' | 'ticks'> & { readonly id: string }

/** The balances and positions of a vault, and its statement. */
export interface VaultContents<One extends TotalledPosition = TotalledPosition> {
  readonly vault: Address
  readonly statement: VaultStatement
  readonly balances: readonly TokenAmount[]
  readonly positions: readonly One[]
}

/**
 * Compares a vault's balances and positions with the total that its contract reports, to the unit. Anyone can send a
 * vault an NFT: if the total leaves NFTs out, they do not count.
 * @returns the positions that count
 * @throws {Contradiction} when the vault reports a range in which logs show no position, so that logs are missing
 * @throws {ContractMismatch} when the totals differ for any other reason
 */
export function positionsInTotals<One extends TotalledPosition>(
  block: number,
  contents: VaultContents<One>,
): readonly One[] {
  const { vault, statement, positions } = contents
  const { totals } = statement
  if (totals === null) return positions
  const heldWith = (some: readonly One[]): bigint[] =>
    totals.amounts.map(({ token }, side) => heldUnits({ ...contents, positions: some }, totals, token, side as 0 | 1))
  const inPools = positions.filter(({ id }) => parsePoolPositionId(id) !== null)
  const counted = [inPools, positions].find((some) => {
    const units = heldWith(some)
    return totals.amounts.every((amount, side) => amount.units === units[side])
  })
  if (counted !== undefined) return counted
  const held = heldWith(positions)
  const unknown = totals.ranges.filter(
    ({ lower, upper }) => !positions.some(({ ticks }) => ticks.lower === lower && ticks.upper === upper),
  )
  const told = totals.amounts.map(({ units }) => units).join(' and ')
  const sums = `${told}, and its balances and positions are ${held.join(' and ')}`
  if (unknown.length === 0) throw new ContractMismatch(vault, block, `tells a total of ${sums}`)
  const named = unknown.map(({ lower, upper }) => `${lower} to ${upper}`).join(' and ')
  throw new Contradiction(
    `at block ${block} the vault ${vault} tells a total of ${sums}: it names ${named}, and no log tells a position there`,
    vault,
  )
}

/** Returns whether a vault reports the range of a position as one of its ranges. */
export function isInRanges({ pool, ranges }: VaultTotals, id: string): boolean {
  const place = parsePoolPositionId(id)
  if (place?.pool !== pool) return false
  return ranges.some(({ lower, upper }) => place.ticks.lower === lower && place.ticks.upper === upper)
}

function heldUnits(
  { statement, balances, positions }: VaultContents,
  { creditedPart }: VaultTotals,
  token: Address,
  side: 0 | 1,
): bigint {
  const unitsIn = (amounts: readonly TokenAmount[]): bigint =>
    amounts.find((amount) => amount.token === token)?.units ?? 0n
  return positions.reduce(
    (sum, { amounts, credited }) => sum + amounts[side] + creditedPart(credited[side]),
    unitsIn(balances) - unitsIn(statement.debts),
  )
}
