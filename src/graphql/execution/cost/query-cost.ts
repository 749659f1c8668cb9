/** The cost of an operation with certain variables: an upper bound where no list is longer than assumed. */
export interface QueryCost {
  /** Number of fields in the response, and costs of its reads: a list counts its selection once for each item. */
  readonly units: number
  /**
   * Lists with a length argument on the path to the most expensive field, and a count that is a long read, outermost first, such
   * as `vaults(first: 200)`.
   */
  readonly mostExpensive: readonly string[]
  /** Whether it may send reads that share the few connections for long reads. */
  readonly hasLongReads: boolean
}

/** The cost of an empty selection. */
export const noCost: QueryCost = { units: 0, mostExpensive: [], hasLongReads: false }

/** Adds costs; the path to the most expensive field is that of the most expensive part. */
export function sumOf(costs: readonly QueryCost[]): QueryCost {
  let largest = noCost
  let units = 0
  let hasLongReads = false
  for (const part of costs) {
    units += part.units
    hasLongReads ||= part.hasLongReads
    if (part.units > largest.units) largest = part
  }
  return { units, mostExpensive: largest.mostExpensive, hasLongReads }
}
