/** Upper bound on the cost of an operation with certain variables. */
export interface QueryCost {
  /** Maximum number of fields in the response: a list counts its selection once for each item. */
  readonly cost: number
  /**
   * Lists with a length argument on the path to the most expensive field, outermost first, such as `vaults(first:
   * 200)`.
   */
  readonly mostExpensive: readonly string[]
  /** Whether it may send reads that share the few connections for long reads. */
  readonly hasLongReads: boolean
}

/** The cost of an empty selection. */
export const noCost: QueryCost = { cost: 0, mostExpensive: [], hasLongReads: false }

/** Adds costs; the path to the most expensive field is that of the most expensive part. */
export function sumOf(costs: readonly QueryCost[]): QueryCost {
  let largest = noCost
  let cost = 0
  let hasLongReads = false
  for (const part of costs) {
    cost += part.cost
    hasLongReads ||= part.hasLongReads
    if (part.cost > largest.cost) largest = part
  }
  return { cost, mostExpensive: largest.mostExpensive, hasLongReads }
}
