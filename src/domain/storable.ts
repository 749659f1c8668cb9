import { type Decimal, fineDigits, usdDigits } from './decimal.ts'
import { FigureTooLarge } from './errors.ts'
import { netUsd, strategyDeltaUsd, type VaultState } from './vault.ts'

/** Key under which a fact states a valuation: in a mark, or in a flow. */
export type ValuationKey = 'valueUsd' | 'valueBeforeUsd'

/**
 * Returns the state that a mark or flow produces, after checking that all of its values fit the database. The schema
 * bounds each value of one fact; sums and products over several facts are bounded only here.
 * @param valuationKey key of the fact's valuation, named in the error
 * @throws {FigureTooLarge} when a value has too many digits; names the value and the key that caused it
 */
export function requireStorable(vault: VaultState, valuationKey: ValuationKey): VaultState {
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
  if (day !== null) check(valuationKey, "the day's growth", day.growth, fineDigits)
  check('prices', 'marketDeltaUsd', vault.marketDeltaUsd, usdDigits)
  check(valuationKey, 'netUsd', netUsd(vault), usdDigits)
  check(valuationKey, 'strategyDeltaUsd', strategyDeltaUsd(vault), usdDigits)
  return vault
}
