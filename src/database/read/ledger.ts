import { type EventType, eventTypes, type LedgerKey, tallyRows } from '../../domain/ledger.ts'
import type { Read, Reader } from '../database.ts'
import { dataVersion } from './commit-log.ts'
import type { Window } from './equity.ts'
import { bytesOf, namedVaults } from './expressions.ts'
import { ledgerCodec } from './ledger-order/ledger-codec.ts'
import { pageValues, requested } from './ledger-order/page-parameters.ts'
import { newestKey, place, placeOf, unordered } from './ledger-order/sort-key.ts'
import { pageOfUnordered } from './ledger-order/unordered-window.ts'
import type { LedgerRow } from './rows.ts'

/** Restricts ledger rows to a window and to event types; null for all types. */
export interface LedgerFilter extends Window {
  readonly types: readonly EventType[] | null
}

/** A page of a ledger: its filter, its size, and the key of the row before it. */
export interface LedgerPage extends LedgerFilter {
  readonly first: number
  readonly after: LedgerKey | null
}

/** The primary key of a row. */
export interface LedgerRowKey {
  readonly vault: string
  readonly txHash: string
  readonly logIndex: number
}

/*
 * The indexes are in the order of blocks and log indexes, so that a page is read from its cursor on. Where the rows of a ledger
 * arrived in order, a window of time is a range of blocks, which is read from its newest block or the cursor to its oldest.
 * Where they did not, a window has no range here: its page is deferred to the statement that reads spans.
 */
const bounds = `
  cross join lateral (select id, ledger_in_order, updated_at, not ledger_in_order
      and (${requested.since} > 0 or ${requested.until} <= updated_at) as needs_spans from vault where address = list.vault) ledger
  cross join lateral (select
    case when ledger_in_order and ${requested.since} > 0 then (select block from ledger_row where vault_id = ledger.id and ts >= ${requested.since}
      order by ts, block limit 1) else 0 end as oldest_block,
    case when ledger_in_order and ${requested.until} <= updated_at then (select block from ledger_row where vault_id = ledger.id and ts < ${requested.until}
      order by ts desc, block desc limit 1) when not needs_spans then ${requested.block} end as newest_block offset 0) span
  cross join lateral (select case when ${requested.block} < newest_block then ${requested.block} else newest_block end as from_block,
    case when newest_block < ${requested.block} then ${newestKey.logIndex} else ${requested.logIndex} end as from_log_index,
    case when newest_block < ${requested.block} then ${bytesOf(`'${newestKey.txHash}'`)}
      else ${bytesOf(requested.txHash)} end as from_tx_hash offset 0) start
  cross join lateral (select case when from_block is not null
    then least(${placeOf('from_block', 'from_log_index')}, ${unordered - 1n}) end as from_place,
    case when oldest_block is not null then ${placeOf('oldest_block', '0')} end as oldest_place offset 0) ends`

/*
 * The planner must scan the index in order, and must not sort all matching rows, whose number it cannot estimate: so the
 * limit is hidden in a subquery, and the bounds have a form that it does not take for a selective condition. The indexes
 * leave hashes out: all rows of the last log index of a page are read, and sorted by hash.
 */
const newestFirst = `order by block desc, log_index desc, tx_hash desc limit ${requested.limit}`
const inOrder = `order by ${place} desc fetch first ${requested.limit} rows with ties`
const onPage = `vault_id = ledger.id
  and (block, log_index, tx_hash) < (from_block, from_log_index, from_tx_hash) and (block, log_index) >= (oldest_block, 0)
  and case when ts >= ${requested.since} and ts < ${requested.until} then true else false end`

/** Selects the newest rows of a page, and all rows whose sort keys are not in order. */
const newestWhere = (condition: string): string => `(select * from ledger_row where ${onPage} and ${condition}
    and (${place}, 0) <= (from_place, 0) and (${place}, 0) >= (oldest_place, 0) ${inOrder})
  union all (select * from ledger_row where ${onPage} and ${condition} and (${place}, 0) >= (${unordered}, 0))`
const rowsWhere = (condition: string): string => `select * from (${newestWhere(condition)}) tied ${newestFirst}`
const rowsOfAnyType = rowsWhere(`${requested.types} is null`)
const rowsOfOneType = rowsWhere(`type = (${requested.types})[1]::event_type`)
/** Reads each type in the order of its own index, and merges them. */
const rowsOfTypes = `select found.* from unnest(${requested.types}::event_type[]) as wanted(type) cross join lateral (
    ${newestWhere('type = wanted.type')}) found ${newestFirst}`

const { aggregate, decode } = ledgerCodec

/** Maximum number of ledgers in one statement: its pages are decoded while the server reads the next batch. */
const maxLedgers = 12

/** Stands for the page of a window of a ledger whose rows did not arrive in the order of blocks. */
interface DeferredPage {
  readonly deferredVault: string
}

const isRow = (found: LedgerRow | DeferredPage): found is LedgerRow => !('deferredVault' in found)

/** The text of a {@link DeferredPage}, which no rows have: theirs contain tabs. */
const deferredPage = 'deferred'

function pageStatement(name: string, rows: string): Read {
  return {
    name,
    dependsOn: 'named vaults',
    batching: { kind: 'keyed', keyProperty: 'vaultAddress' },
    maxKeys: maxLedgers,
    text: `select list.vault as key, case when needs_spans then '${deferredPage}' else page.encoded end as encoded, ${dataVersion} from ${namedVaults} ${bounds}
      cross join lateral (select ${aggregate} as encoded from (${rows}) found) page`,
    decode: (encoded, key = ''): (LedgerRow | DeferredPage)[] =>
      encoded === deferredPage ? [{ deferredVault: key }] : decode(encoded, key),
  }
}

const ofTypes = eventTypes.map((type) => `case when '${type}' = any($4::text[]) then ${type} else 0 end`).join(' + ')

/**
 * Selects the number of rows before a time: the counts of the last tally before it, and the fewer than `tallyRows` rows after
 * that. Rows arrive in order of time, so that no tally is outdated. By the limit the planner expects few rows, in index order.
 */
const rowsBefore = (time: string): string => `
  select coalesce(tally.count, 0) + rest.count as count from (select) one
    left join lateral (select ledger_tally.ts, ${ofTypes} as count from ledger_tally
      where vault_id = keyed.id and ledger_tally.ts < ${time} order by ledger_tally.ts desc limit 1) tally on true
    cross join lateral (select count(*) filter (where type = any($4::text[]::event_type[])) as count from (
      select type from ledger_row where vault_id = keyed.id
        and ledger_row.ts > coalesce(tally.ts, -1) and ledger_row.ts < ${time}
      order by ledger_row.ts limit ${tallyRows}) found) rest`

const count: Read = {
  name: 'ledger_count',
  dependsOn: 'named vaults',
  batching: { kind: 'keyed', keyProperty: 'vault' },
  text: `select list.vault, greatest(upto.count - before.count, 0)::integer as count, ${dataVersion}
    from ${namedVaults}
      cross join lateral (select (select id from vault where address = list.vault) as id offset 0) keyed
      cross join lateral (${rowsBefore('$3::bigint')}) upto cross join lateral (${rowsBefore('$2::bigint')}) before`,
}

const page = pageStatement('ledger_page', rowsOfAnyType)
const pageOfOneType = pageStatement('ledger_page_of_type', rowsOfOneType)
const pageOfTypes = pageStatement('ledger_page_of_types', rowsOfTypes)

/*
 * A key is looked up in the primary key's index, whatever the statistics of the table: an aggregate in a lateral subquery
 * cannot become a join. The first value has the vaults alone, because it names the data that a read depends on.
 */
const rowsByKey: Read = {
  name: 'ledger_rows_by_key',
  dependsOn: 'named vaults',
  batching: { kind: 'keyed', keyProperty: 'vaultAddress' },
  text: `select wanted.vault as key, found.encoded, ${dataVersion}
    from unnest((select $2::text[]), (select $3::text[]), (select $4::integer[])) as wanted(vault, tx_hash, log_index)
    cross join lateral (select ${aggregate} as encoded from ledger_row
      where vault_id = (select id from vault where address = wanted.vault)
        and tx_hash = ${bytesOf('wanted.tx_hash')} and log_index = wanted.log_index) found
    where wanted.vault = any((select $1::text[])::text[])`,
  decode,
}

/** Reads rows of ledgers by their keys; missing rows are left out. */
export function readLedgerRows(reader: Reader, keys: readonly LedgerRowKey[]): Promise<LedgerRow[]> {
  const vaults = keys.map(({ vault }) => vault)
  return reader.query(rowsByKey, [
    [...new Set(vaults)],
    vaults,
    keys.map(({ txHash }) => txHash),
    keys.map(({ logIndex }) => logIndex),
  ])
}

/**
 * Reads a page of the ledger of each vault, newest first, and one more row where there is one, which indicates a next
 * page. Rows of different vaults are in no order.
 */
export async function readLedger(
  reader: Reader,
  addresses: readonly string[],
  { types, since, until, first, after }: LedgerPage,
): Promise<LedgerRow[]> {
  const { block, logIndex, txHash } = after ?? newestKey
  const each = types && [...new Set(types)]
  const valuesOf = (vaults: readonly string[]) =>
    pageValues({ vaults, since, until, types: each, block, logIndex, txHash, limit: first + 1 })
  const statement = each === null ? page : each.length === 1 ? pageOfOneType : pageOfTypes
  const found = await reader.query<LedgerRow | DeferredPage>(statement, valuesOf(addresses))
  const rows = found.filter(isRow)
  if (rows.length === found.length) return rows
  const deferred = found.flatMap((page) => (isRow(page) ? [] : [page.deferredVault]))
  return [...rows, ...(await reader.query<LedgerRow>(pageOfUnordered, valuesOf(deferred)))]
}

/** Counts the ledger rows of each vault that match a filter, in logarithmic time. */
export function countLedger(
  reader: Reader,
  addresses: readonly string[],
  { types, since, until }: LedgerFilter,
): Promise<{ vault: string; count: number }[]> {
  return reader.query(count, [addresses, since, until, types ?? eventTypes])
}
