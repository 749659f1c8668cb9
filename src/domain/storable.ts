import { type Decimal, fineDigits, usdDigits } from './decimal.ts'
import { FigureTooLarge } from './errors.ts'
import { netUsd, strategyDeltaUsd, type VaultState } from './vault.ts'

/** The key that a valuation stands under: in a mark, or in a flow. */
export type FoundKey = 'valueUsd' | 'valueBeforeUsd'

/**
 * The vault as a mark or flow leaves it, where all of its figures can be stored. What a fact says is bounded on its way
 * in; what follows from several facts is bounded only here.
 * @throws {FigureTooLarge} naming the figure, and the key that took it there
 */
export function storable(vault: VaultState, foundKey: FoundKey): VaultState {
  const { benchmark, day } = vault
  const check = (key: string, figure: string, amount: Decimal, digits: number): void => {
    if (amount.e >= digits) throw new FigureTooLarge(key, figure, amount.toFixed(), digits)
  }
  check('amountUsd', 'valueUsd', vault.valueUsd, usdDigits)
  check('amountUsd', 'capitalInUsd', vault.capitalInUsd, usdDigits)
  check('amountUsd', 'capitalOutUsd', vault.capitalOutUsd, usdDigits)
  for (const [symbol, quantity] of benchmark.holdings) {
    check('assets', `the ${symbol} of all deposits`, quantity, fineDigits)
  }
  check('prices', 'what withdrawals have taken of the deposits', benchmark.paidOutUsd, fineDigits)
  if (day !== null) check(foundKey, "the day's growth", day.growth, fineDigits)
  check('prices', 'marketDeltaUsd', vault.marketDeltaUsd, usdDigits)
  check(foundKey, 'netUsd', netUsd(vault), usdDigits)
  check(foundKey, 'strategyDeltaUsd', strategyDeltaUsd(vault), usdDigits)
  return vault
}
