import { ledgerSpans } from '../../../domain/ledger.ts'
import type { Read } from '../../database.ts'
import { dataVersion } from '../commit-log.ts'
import { bytesOf, namedVaults } from '../expressions.ts'
import { ledgerCodec } from './ledger-codec.ts'
import { requested } from './page-parameters.ts'
import { place, placeOf, unordered } from './sort-key.ts'

/** The key of the row before the page. */
const cursor = `(${requested.block}, ${requested.logIndex}, ${bytesOf(requested.txHash)})`

/** One more than the requested rows: the sort key of the cursor may have no row after it. */
const keyLimit = `${requested.limit} + 1`

/** SQL of the spans of a level that lie in the window: the ordinal of the first one, and that after the last one; none where both are 0. */
const spansInWindow = (level: number): string => `
  cross join lateral (select case when low < high then low else 0 end as low, case when low < high then high else 0 end as high
    from (select case when ${requested.since} <= 0 then 0 else coalesce((select ordinal + 1 from ledger_span
          where vault_id = ledger.id and level = ${level} and last_ts >= ${requested.since} - 1 order by last_ts limit 1), ${2 ** 31 - 1}) end as low,
        coalesce((select ordinal + 1 from ledger_span where vault_id = ledger.id and level = ${level} and last_ts < ${requested.until}
          order by last_ts desc limit 1), 0) as high offset 0) ends offset 0) level${level}`

/** SQL of the spans of a level, without those whose rows a span of the next level in the window has. */
function uncoveredSpans(level: number): string {
  const series = (from: string, to: string): string =>
    `select ${level} as level, ordinal from generate_series(${from}, ${to} - 1) as ordinal`
  const [low, high] = [`level${level}.low`, `level${level}.high`]
  if (level === ledgerSpans.levels) return series(low, high)
  const above = (end: string): string => `level${level + 1}.${end} * ${ledgerSpans.fan}`
  return `${series(low, `least(${high}, ${above('low')})`)} union all ${series(`greatest(${low}, ${above('high')})`, high)}`
}

const levels = Array.from({ length: ledgerSpans.levels }, (_, index) => index + 1)
const lastSecondOf = (span: string): string =>
  `(select last_ts from ledger_span where vault_id = ledger.id and level = 1 and ordinal = ${span})`
/** The seconds before the first span and after the last one; without spans, the first of them are all. */
const edges = `cross join lateral (select
    case when level1.high > 0 then coalesce(${lastSecondOf('level1.low - 1')} + 1, 0) else ${requested.until} end as before,
    case when level1.high > 0 then ${lastSecondOf('level1.high - 1')} + 1 else ${requested.until} end as after offset 0) edge`

const isOfType = `(${requested.types} is null or type = any(${requested.types}::event_type[]))`
/** Few rows, which are found by time: the zero keeps the planner from the index of the sort key. */
const keysBetween = (
  from: string,
  to: string,
): string => `(select distinct key from (select ${place} as key from ledger_row
      where vault_id = ledger.id and ts >= ${from} and ts < ${to} and ${isOfType} offset 0) edge_rows
    where key <= from_place order by key desc limit ${keyLimit})`

/**
 * The pages of a list in a span are full except the newest one, and the page of the cursor has a key at least: so few pages
 * have enough keys.
 */
const keysOfSpans = `select found.key from (${levels.map(uncoveredSpans).join(' union all ')}) span
    cross join unnest(coalesce(${requested.types}, '{all}')) as wanted(list)
    cross join lateral (select key from (select keys from ledger_span_page page where page.vault_id = ledger.id and page.level = span.level
          and page.ordinal = span.ordinal and page.list = wanted.list and first_key <= from_place
        order by first_key desc limit (${requested.limit} + ${ledgerSpans.pageKeys - 1}) / ${ledgerSpans.pageKeys} + 1) pages
      cross join lateral unnest(keys) as key where key <= from_place order by key desc limit ${keyLimit}) found`

/** The window has a form by which the planner takes no other index than that of the sort key. */
const isOnPage = `vault_id = ledger.id and (block, log_index, tx_hash) < ${cursor}
    and case when ts >= ${requested.since} and ts < ${requested.until} and ${isOfType} then true else false end`

/** Selects the newest rows of a page by their sort keys, and all rows whose sort keys are not in order. */
const rows = `select * from (select ledger_row.* from (
      select distinct key from (${keysOfSpans} union all ${keysBetween(requested.since, 'before')}
        union all ${keysBetween('after', requested.until)}) found order by key desc limit ${keyLimit}) newest
    cross join lateral (select * from ledger_row where ${isOnPage} and ${place} = newest.key offset 0) ledger_row
  union all select * from ledger_row where ${isOnPage} and (${place}, 0) >= (${unordered}, 0)) found
  order by block desc, log_index desc, tx_hash desc limit ${requested.limit}`

/**
 * Reads a page of a window of ledgers whose rows did not arrive in the order of blocks, from the sorted keys of the spans in
 * the window, and from the rows at its ends that are in none of these spans.
 */
export const pageOfUnordered: Read = {
  name: 'ledger_page_of_unordered',
  dependsOn: 'named vaults',
  batching: { kind: 'keyed', keyProperty: 'vaultAddress' },
  maxKeys: 4,
  text: `select list.vault as key, page.encoded, ${dataVersion} from ${namedVaults}
    cross join lateral (select id, least(${placeOf(requested.block, requested.logIndex)}, ${unordered - 1n}) as from_place
      from vault where address = list.vault) ledger
    ${levels.map(spansInWindow).join('')} ${edges}
    cross join lateral (select ${ledgerCodec.aggregate} as encoded from (${rows}) found) page`,
  decode: ledgerCodec.decode,
}
