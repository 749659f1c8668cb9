import { Decimal, zero } from '../../domain/decimal.ts'

/** Capital that goes in or out, in the order of the logs. */
export interface Flow {
  readonly isDeposit: boolean
  readonly amountUsd: Decimal
}

/**
 * What a vault was worth before each flow of a block: its value at the block's end, with the flows from there on taken
 * back. So the flow is valued at its own block's prices, and whatever else happened in the block counts as earned before
 * it. Never less than nothing, nor than what was withdrawn.
 */
export function valuesBefore(valueAtEndUsd: Decimal, flows: readonly Flow[]): Decimal[] {
  let afterUsd = valueAtEndUsd
  return flows
    .toReversed()
    .map(({ isDeposit, amountUsd }) => {
      afterUsd = isDeposit ? Decimal.max(zero, afterUsd.minus(amountUsd)) : afterUsd.plus(amountUsd)
      return afterUsd
    })
    .reverse()
}
