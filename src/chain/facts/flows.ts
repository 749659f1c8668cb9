import { Decimal, zero } from '../../domain/decimal.ts'

/** A deposit or withdrawal. */
export interface Flow {
  readonly isDeposit: boolean
  readonly amountUsd: Decimal
}

/**
 * Computes the value of a vault before each flow of a block: the value at the block's end minus the effect of that flow
 * and all later flows. Flows are thus valued at the prices of their own block, and all other changes in the block count
 * as earned before the flows.
 *
 * Where a deposit exceeds the vault's earlier value, this would be far off: the cost of the deposit would be a loss of
 * a small capital. In a block with such a deposit, gains and losses besides the flows count between the flows where the
 * vault has most capital.
 * @param valueAtEndUsd value at the end of the block
 * @param flows in the order of the logs
 * @param readValueAtStart returns the value at the end of the previous block, at the prices of this block
 * @returns USD before each flow, at least 0 and at least the amount of a withdrawal
 */
export async function valuesBeforeFlows(
  valueAtEndUsd: Decimal,
  flows: readonly Flow[],
  readValueAtStart: () => Promise<Decimal>,
): Promise<Decimal[]> {
  const before = fromEnd(valueAtEndUsd, flows)
  const hasLarge = flows.some(({ isDeposit, amountUsd }, at) => isDeposit && amountUsd.greaterThan(before[at] ?? zero))
  if (!hasLarge) return before
  const capitals = fromStart(await readValueAtStart(), flows)
  const most = capitals.reduce((best, usd, at) => (usd.greaterThan(capitals[best] ?? zero) ? at : best), 0)
  const placed = flows.map((_, at) => (at < most ? capitals[at] : before[at]) ?? zero)
  // A withdrawal may include gains of the same block, and exceed the capital.
  const isPossible = flows.every(
    ({ isDeposit, amountUsd }, at) => isDeposit || !amountUsd.greaterThan(placed[at] ?? zero),
  )
  return isPossible ? placed : before
}

/** Computes the values before each flow backwards from the value at the end. */
function fromEnd(valueAtEndUsd: Decimal, flows: readonly Flow[]): Decimal[] {
  let afterUsd = valueAtEndUsd
  return flows
    .toReversed()
    .map(({ isDeposit, amountUsd }) => {
      afterUsd = isDeposit ? Decimal.max(zero, afterUsd.minus(amountUsd)) : afterUsd.plus(amountUsd)
      return afterUsd
    })
    .reverse()
}

/** Returns the capital before each flow, and after the last one. */
function fromStart(valueAtStartUsd: Decimal, flows: readonly Flow[]): Decimal[] {
  const capitals = [valueAtStartUsd]
  for (const { isDeposit, amountUsd } of flows) {
    const usd = capitals.at(-1) ?? zero
    capitals.push(isDeposit ? usd.plus(amountUsd) : usd.minus(amountUsd))
  }
  return capitals
}
