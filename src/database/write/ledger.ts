import type { Decimal } from '../../domain/decimal.ts'
import { usdText } from '../../domain/flows.ts'
import {
  type EventType,
  eventTypes,
  type LedgerCounts,
  type LedgerTally,
  type NewestTallies,
} from '../../domain/ledger.ts'
import type { Statement, Transaction } from '../database.ts'
import { bytesOf } from '../read/expressions.ts'
import { appendSet, bytesOrNull } from './sets.ts'

/** Identity of an event: the address of its vault, its transaction and its log index. */
export interface EventIdentity {
  readonly vault: string
  readonly txHash: string
  readonly logIndex: number
}

/** A ledger event as it is stored. */
export interface RecordedEvent extends Omit<EventIdentity, 'vault'> {
  readonly vaultId: number
  readonly block: number
  readonly ts: number
  readonly type: EventType
  readonly amountUsd: Decimal | null
  readonly positionId: string | null
  readonly reason: string | null
  readonly digest: string
}

const appendRows = appendSet('ledger_row', {
  vault_id: 'integer',
  tx_hash: 'bytea',
  log_index: 'integer',
  block: 'bigint',
  ts: 'bigint',
  type: 'event_type',
  amount_usd: 'numeric',
  position_id: 'text',
  reason: 'text',
  digest: 'bytea',
  commit_nonce: 'bigint',
})

/**
 * Appends events to ledgers.
 * @param nonce of the commit, by which a stream of rows finds them
 */
export function saveEvents(transaction: Transaction, events: readonly RecordedEvent[], nonce: string): void {
  appendRows(
    transaction,
    events.map((event) => ({
      vault_id: event.vaultId,
      tx_hash: bytesOrNull(event.txHash.slice(2)),
      log_index: event.logIndex,
      block: event.block,
      ts: event.ts,
      type: event.type,
      amount_usd: event.amountUsd === null ? null : usdText(event.amountUsd),
      position_id: event.positionId,
      reason: event.reason,
      digest: bytesOrNull(event.digest),
      commit_nonce: nonce,
    })),
  )
}

const eventsAmong: Statement = {
  name: 'known_events',
  text: `select wanted.vault, hash as "txHash", log_index as "logIndex", encode(ledger_row.digest, 'hex') as digest
    from unnest($1::text[], $2::text[], $3::integer[]) as wanted(vault, hash, index)
      join vault on vault.address = wanted.vault
      join ledger_row on vault_id = vault.id and tx_hash = ${bytesOf('hash')} and log_index = index`,
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

const newestTallies: Statement = {
  name: 'newest_ledger_tallies',
  text: `select wanted.vault, ts::float8 as ts, ${eventTypes.join(', ')}
    from unnest($1::text[]) as wanted(vault) join vault on vault.address = wanted.vault cross join lateral (
      select * from ledger_tally where vault_id = vault.id order by ledger_tally.ts desc limit 2) tally
    order by vault_id, tally.ts`,
}

/** Reads the newest tallies of ledgers, by vault. */
export async function readNewestTallies(
  transaction: Transaction,
  vaults: readonly string[],
): Promise<Map<string, NewestTallies>> {
  const found = new Map<string, NewestTallies>()
  if (vaults.length === 0) return found
  const rows = await transaction.query<{ vault: string; ts: number } & LedgerCounts>(newestTallies, [vaults])
  for (const { vault, ts, ...counts } of rows) {
    found.set(vault, { kept: found.get(vault)?.newest ?? null, newest: { ts, counts } })
  }
  return found
}

/** The tallies of a ledger that a batch has added. */
export interface AddedTallies {
  readonly vaultId: number
  /** Time of the stored tally that they replace, in Unix seconds; null where none was stored. */
  readonly replacedTs: number | null
  readonly tallies: readonly LedgerTally[]
}

const deleteTallies: Statement = {
  name: 'delete_ledger_tallies',
  text: `delete from ledger_tally using unnest($1::integer[], $2::bigint[]) as replaced(vault, at)
    where vault_id = vault and ts = at`,
}
const countColumns = Object.fromEntries(eventTypes.map((type) => [type, 'integer'])) as Record<EventType, 'integer'>
const appendTallies = appendSet('ledger_tally', { vault_id: 'integer', ts: 'bigint', ...countColumns })

/** Writes tallies of ledgers, which replace the newest stored ones. */
export function saveTallies(transaction: Transaction, added: readonly AddedTallies[]): void {
  const replaced = added.flatMap(({ vaultId, replacedTs: ts }) => (ts === null ? [] : [{ vaultId, ts }]))
  if (replaced.length > 0) {
    transaction.send(deleteTallies, [replaced.map(({ vaultId }) => vaultId), replaced.map(({ ts }) => ts)])
  }
  appendTallies(
    transaction,
    added.flatMap(({ vaultId, tallies }) => tallies.map(({ ts, counts }) => ({ vault_id: vaultId, ts, ...counts }))),
  )
}
