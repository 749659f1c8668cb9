import type { EventType, LedgerKey } from '../../domain/ledger.ts'
import type { Read, Reader } from '../database.ts'
import type { Window } from './equity.ts'
import type { LedgerRow } from './rows.ts'

export interface LedgerFilter extends Window {
  readonly types: readonly EventType[] | null
}

export interface LedgerPage extends LedgerFilter {
  readonly first: number
  readonly after: LedgerKey | null
}

/** Before every row: no block, index or hash is greater. */
const newest: LedgerKey = { block: Number.MAX_SAFE_INTEGER, logIndex: 2_147_483_647, txHash: 'g' }

const inWindow = `vault_address = list.vault and ts >= $2::bigint and ts < $3::bigint`
const ofType = 'and type = any($4::text[]::event_type[])'
const ofAnyType = 'and $4::text[] is null'

/** Two texts, so that each is planned with the index that serves it. */
function pageStatement(name: string, types: string): Read {
  return {
    name,
    from: 'named vaults',
    text: `select page.* from unnest($1::text[]) as list(vault) cross join lateral (
        select vault_address as "vaultAddress", tx_hash as "txHash", log_index as "logIndex", block::float8 as block,
          ts::float8 as ts, type::text as type, amount_usd::text as "amountUsd", position_id as "positionId", reason
        from ledger_row
        where ${inWindow} ${types} and (block, log_index, tx_hash) < ($5::bigint, $6::integer, $7::text)
        order by ledger_row.block desc, ledger_row.log_index desc, ledger_row.tx_hash desc limit $8::integer) page`,
  }
}

function countStatement(name: string, types: string): Read {
  return {
    name,
    from: 'named vaults',
    text: `select list.vault, counted.count from unnest($1::text[]) as list(vault) cross join lateral (
        select count(*)::integer as count from ledger_row where ${inWindow} ${types}) counted`,
  }
}

const page = pageStatement('ledger_page', ofAnyType)
const pageOfTypes = pageStatement('ledger_page_of_types', ofType)
const count = countStatement('ledger_count', ofAnyType)
const countOfTypes = countStatement('ledger_count_of_types', ofType)

/** A page of the ledger of each of these vaults, newest first, one row more than asked for where there is one. */
export function readLedger(
  database: Reader,
  addresses: readonly string[],
  { types, since, until, first, after }: LedgerPage,
): Promise<LedgerRow[]> {
  const { block, logIndex, txHash } = after ?? newest
  const values = [addresses, since, until, types, block, logIndex, txHash, first + 1]
  return database.query(types === null ? page : pageOfTypes, values)
}

export function countLedger(
  database: Reader,
  addresses: readonly string[],
  { types, since, until }: LedgerFilter,
): Promise<{ vault: string; count: number }[]> {
  return database.query(types === null ? count : countOfTypes, [addresses, since, until, types])
}
