import { eventTypes, ledgerSpans } from '../../../domain/ledger.ts'
import type { Statement, Transaction } from '../../database.ts'
import { place, unordered } from '../../read/ledger-order/sort-key.ts'

/**
 * Completes the spans of ledgers whose rows did not arrive in the order of blocks, by one statement for each level, after the
 * rows and their tallies. Spans are immutable: later rows are of the newest second of a ledger or after it, and that is in no span.
 * The spans of a long ledger whose first row has just arrived out of order are completed by this and the next batches.
 */
export function saveLedgerSpans(transaction: Transaction, vaultIds: readonly number[]): void {
  if (vaultIds.length === 0) return
  transaction.send(firstLevel, [vaultIds, ledgerSpans.perBatch])
  for (let level = 2; level <= ledgerSpans.levels; level++) transaction.send(nextLevel, [vaultIds, level])
}

const rowsOf = (tally: string): string => eventTypes.map((type) => `${tally}.${type}`).join(' + ')

/** SQL of the ordinal of the newest span of a level, and of the end of its last second: -1 for none. */
const newestSpan = (
  level: string,
): string => `cross join lateral (select coalesce(max(ordinal), -1) as ordinal, coalesce(max(last_ts), -1) as ts
  from (select ordinal, last_ts from ledger_span where vault_id = vault and level = ${level} order by ordinal desc limit 1) span) newest`

/**
 * SQL that inserts spans, and pages of their keys.
 * @param spans SQL of rows of a vault, an ordinal, and the times between which the span lies: after the first, up to the second
 * @param keys SQL of the lists of a span and their keys
 */
const insertSpans = (level: string, spans: string, keys: string): string => `
  with span as materialized (${spans}),
    inserted as (insert into ledger_span (vault_id, level, ordinal, last_ts) select vault, ${level}, ordinal, last_ts from span)
  insert into ledger_span_page (first_key, vault_id, level, ordinal, list, keys)
  select keys[1], vault, ${level}, ordinal, list, keys
  from span cross join lateral (
    select list, array_agg(key order by key) as keys
    from (
      select list, key, (row_number() over (partition by list order by key) - 1) / ${ledgerSpans.pageKeys} as page
      from (select distinct list, key from ${keys}) found) numbered
    group by list, page) page`

/**
 * Returns the SQL that creates the spans of the first level. A span ends with a tally at which another `ledgerSpans.rows` rows
 * are complete: so it depends only on the rows, and not on the batches that brought them.
 * @param vaults SQL of rows of a vault
 */
export const firstSpans = (vaults: string, limit: string): string =>
  insertSpans(
    '1',
    `select vault, newest.ordinal + row_number() over (partition by vault order by ended.ts) as ordinal,
      lag(ended.ts, 1, newest.ts) over (partition by vault order by ended.ts) as after_ts, ended.ts as last_ts
    from ${vaults} ${newestSpan('1')}
      cross join lateral (select max(ts) as ts from ledger_tally where vault_id = vault) ending
      cross join lateral (
        select ts, count, lag(count, 1, 0) over (order by ts) as count_before
        from (select ts, ${rowsOf('ledger_tally')} as count from ledger_tally
          where vault_id = vault and ledger_tally.ts >= newest.ts and ledger_tally.ts < ending.ts) tally) ended
    where ended.ts > newest.ts and count / ${ledgerSpans.rows} > count_before / ${ledgerSpans.rows}
    order by vault, ended.ts limit ${limit}`,
    `(select ${place} as key, type::text collate "C" as type from ledger_row
        where vault_id = vault and ts > after_ts and ts <= last_ts and ${place} < ${unordered}) ledger_row
      cross join lateral (values ('all' collate "C"), (type)) as lists(list)`,
  )

/** Returns the SQL that creates the spans of a level from those of the level below. */
export const nextSpans = (vaults: string, level: string): string =>
  insertSpans(
    level,
    `select vault, next.ordinal, below.last_ts
    from ${vaults} ${newestSpan(level)}
      cross join lateral (select ordinal, last_ts from ledger_span where vault_id = vault and level = ${level} - 1
        and ledger_span.ordinal >= (newest.ordinal + 1) * ${ledgerSpans.fan} and ledger_span.ordinal % ${ledgerSpans.fan} = ${ledgerSpans.fan - 1}) below
      cross join lateral (select below.ordinal / ${ledgerSpans.fan} as ordinal) next`,
    `(select list collate "C" as list, keys from ledger_span_page page where page.vault_id = vault and page.level = ${level} - 1
        and page.ordinal >= span.ordinal * ${ledgerSpans.fan} and page.ordinal < (span.ordinal + 1) * ${ledgerSpans.fan}) page
      cross join lateral unnest(keys) as key`,
  )

const growing = 'unnest($1::integer[]) as growing(vault)'
const firstLevel: Statement = { name: 'ledger_spans', text: firstSpans(growing, '$2::integer') }
const nextLevel: Statement = { name: 'ledger_spans_of_spans', text: nextSpans(growing, '$2::integer') }
