/** Types of a ledger event, as feeds and responses name them. */
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
