import { Decimal, zero } from '../../domain/decimal.ts'

/** A deposit or withdrawal. */
export interface Flow {
  readonly isDeposit: boolean
  readonly amountUsd: Decimal
}

/**
 * Computes the value of a vault before each flow of a block: the value at the block's end minus the effect of that and
 * all later flows. Flows are so valued at the prices of their own block, and everything else in the block counts as
 * earned before them.
 * @param valueAtEndUsd value at the end of the block
 * @param flows in the order of the logs
 * @returns USD before each flow, at least 0 and at least the amount of a withdrawal
 */
export function valuesBeforeFlows(valueAtEndUsd: Decimal, flows: readonly Flow[]): Decimal[] {
  let afterUsd = valueAtEndUsd
  return flows
    .toReversed()
    .map(({ isDeposit, amountUsd }) => {
      afterUsd = isDeposit ? Decimal.max(zero, afterUsd.minus(amountUsd)) : afterUsd.plus(amountUsd)
      return afterUsd
    })
    .reverse()
}
