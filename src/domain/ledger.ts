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

/** Where a row stands in a vault's ledger: the total order of "newest first", as one key. */
export interface LedgerKey {
  readonly block: number
  readonly logIndex: number
  readonly txHash: string
}
