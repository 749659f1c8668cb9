import { Decimal, usdDigits, zero } from './decimal.ts'
import { FigureTooLarge } from './errors.ts'
import { netUsd, type VaultState } from './vault.ts'

/** Fee summary of a vault: totals in USD. */
export interface FeeSummary {
  readonly contributedUsd: Decimal
  readonly withdrawnUsd: Decimal
  readonly taxedUsd: Decimal
  /** High-water mark of the gain. */
  readonly highWaterUsd: Decimal
}

/** The fee summary of a vault, with its source. */
export interface VaultFees extends FeeSummary {
  /** Whether a mark has stated the summary; until then it is derived. */
  readonly isStated: boolean
  /** Whether a mark has stated the high-water mark, alone or in a summary. */
  readonly isHighWaterStated: boolean
}

/** The fees of a new vault. */
export const noFees: VaultFees = {
  contributedUsd: zero,
  withdrawnUsd: zero,
  taxedUsd: zero,
  highWaterUsd: zero,
  isStated: false,
  isHighWaterStated: false,
}

/**
 * Returns the fees after a valuation or flow. Until a mark states them, they are derived from the vault: its capital in
 * and out, and its greatest gain so far.
 */
export function feesAfter(fees: VaultFees, vault: VaultState): VaultFees {
  if (fees.isStated) return fees
  const highWaterUsd = fees.isHighWaterStated ? fees.highWaterUsd : Decimal.max(fees.highWaterUsd, netUsd(vault))
  const [contributedUsd, withdrawnUsd] = [vault.capitalInUsd, vault.capitalOutUsd]
  const { taxedUsd, isStated, isHighWaterStated } = fees
  return { contributedUsd, withdrawnUsd, taxedUsd, highWaterUsd, isStated, isHighWaterStated }
}

/**
 * Adds a fee event, unless a mark has stated the summary.
 * @throws {FigureTooLarge} when the sum has too many digits
 */
export function chargeFee(fees: VaultFees, amountUsd: Decimal): VaultFees {
  if (fees.isStated) return fees
  return { ...fees, taxedUsd: requireUsd('amountUsd', 'taxedUsd', fees.taxedUsd.plus(amountUsd)) }
}

/** Replaces the summary by that of a mark. */
export function statedFees(summary: FeeSummary): VaultFees {
  return { ...summary, isStated: true, isHighWaterStated: true }
}

/**
 * Replaces the high-water mark by the gain at a value of the vault.
 * @param valueUsd value of the whole vault at its high-water mark
 * @throws {FigureTooLarge} when the gain has too many digits
 */
export function withStatedHighWater(fees: VaultFees, vault: VaultState, valueUsd: Decimal): VaultFees {
  const gainUsd = Decimal.max(zero, netUsd({ ...vault, valueUsd }))
  return { ...fees, highWaterUsd: requireUsd('highWaterValueUsd', 'highWaterUsd', gainUsd), isHighWaterStated: true }
}

function requireUsd(key: string, figure: string, amount: Decimal): Decimal {
  if (amount.exceeds(usdDigits)) throw new FigureTooLarge(key, figure, amount.toFixed(), usdDigits)
  return amount
}
