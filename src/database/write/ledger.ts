import type { Decimal } from '../../domain/decimal.ts'
import { usdText } from '../../domain/flows.ts'
import type { EventType } from '../../domain/ledger.ts'
import type { Statement, Transaction } from '../database.ts'
import { insertSet } from './sets.ts'

/** Identity of an event: its vault, transaction and log index. */
export interface EventIdentity {
  readonly vault: string
  readonly txHash: string
  readonly logIndex: number
}

/** A ledger event as it is stored. */
export interface RecordedEvent extends EventIdentity {
  readonly block: number
  readonly ts: number
  readonly type: EventType
  readonly amountUsd: Decimal | null
  readonly positionId: string | null
  readonly reason: string | null
  readonly digest: string
}

const insertRows = insertSet('ledger_row', {
  vault_address: 'text',
  tx_hash: 'text',
  log_index: 'integer',
  block: 'bigint',
  ts: 'bigint',
  type: 'event_type',
  amount_usd: 'numeric',
  position_id: 'text',
  reason: 'text',
  digest: 'text',
})

/** Appends events to ledgers. */
export function saveEvents(transaction: Transaction, events: readonly RecordedEvent[]): void {
  insertRows(
    transaction,
    events.map((event) => ({
      vault_address: event.vault,
      tx_hash: event.txHash,
      log_index: event.logIndex,
      block: event.block,
      ts: event.ts,
      type: event.type,
      amount_usd: event.amountUsd === null ? null : usdText(event.amountUsd),
      position_id: event.positionId,
      reason: event.reason,
      digest: event.digest,
    })),
  )
}

const eventsAmong: Statement = {
  name: 'known_events',
  text: `select vault_address as vault, tx_hash as "txHash", log_index as "logIndex", digest
    from ledger_row join unnest($1::text[], $2::text[], $3::integer[]) as wanted(vault, hash, index)
      on vault_address = vault and tx_hash = hash and log_index = index`,
}

/** Returns the events that were applied already, with the digests of their contents. */
export async function knownEvents(
  transaction: Transaction,
  events: readonly EventIdentity[],
): Promise<(EventIdentity & { digest: string })[]> {
  if (events.length === 0) return []
  return transaction.query(eventsAmong, [
    events.map(({ vault }) => vault),
    events.map(({ txHash }) => txHash),
    events.map(({ logIndex }) => logIndex),
  ])
}
