/** Types of a ledger event, as feeds and responses name them. Each is one word: a column of the tallies has the same name. */
export const eventTypes = [
  'deposit',
  'withdraw',
  'plant',
  'rebalance',
  'harvest',
  'exit',
  'fee',
  'suspend',
  'resume',
] as const
export type EventType = (typeof eventTypes)[number]

/** Position of a row in a vault's ledger: the sort key of "newest first". */
export interface LedgerKey {
  readonly block: number
  readonly logIndex: number
  readonly txHash: string
}

/** Number of rows of each type. */
export type LedgerCounts = Readonly<Record<EventType, number>>

/** Number of rows of each type up to the end of a second. */
export interface LedgerTally {
  /** The second, in Unix seconds. */
  readonly ts: number
  readonly counts: LedgerCounts
}

/** The two newest tallies of a ledger. */
export interface NewestTallies {
  /** The newest tally that is stored permanently. */
  readonly kept: LedgerTally | null
  /** The tally of the newest row. The next second replaces it, unless it is stored permanently. */
  readonly newest: LedgerTally | null
}

/** One tally is stored for this many rows: a count reads fewer rows than this. */
export const tallyRows = 64

/**
 * Sizes of the spans of a ledger whose rows did not arrive in the order of blocks. A span is a number of seconds one after the
 * other with all of their rows, and its sort keys are stored in order.
 */
export const ledgerSpans = {
  /** Rows of a span of the first level, of which a window reads those at its ends one by one. */
  rows: 512,
  /** Spans of a level in one of the next level. */
  fan: 16,
  levels: 3,
  /** Sort keys in a page of a span. */
  pageKeys: 128,
  /** Spans of the first level that a batch completes at most: the first row out of order has all rows before it to complete. */
  perBatch: 200,
}

const noRows = Object.fromEntries(eventTypes.map((type) => [type, 0])) as LedgerCounts

/**
 * Returns the tallies of a ledger after another row. Rows come in order of time, but not of block. A tally is stored
 * when the rows of its second complete another `tallyRows`, so that fewer than `tallyRows` rows lie between any second
 * and the last tally at or before it.
 */
export function afterRow({ kept, newest }: NewestTallies, ts: number, type: EventType): NewestTallies {
  const counts = newest?.counts ?? noRows
  const hasEnded = newest !== null && newest.ts !== ts
  return {
    kept: hasEnded && completedTallies(newest) > completedTallies(kept) ? newest : kept,
    newest: { ts, counts: { ...counts, [type]: counts[type] + 1 } },
  }
}

function completedTallies(tally: LedgerTally | null): number {
  const counts = tally?.counts ?? noRows
  return Math.floor(eventTypes.reduce((sum, type) => sum + counts[type], 0) / tallyRows)
}
