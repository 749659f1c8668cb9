import type { Database } from '../../src/database/database.ts'
import type { LedgerPage } from '../../src/database/read/ledger.ts'
import type { LedgerRow } from '../../src/database/read/rows.ts'
import { saveLedgerSpans } from '../../src/database/write/vaults/ledger-span.ts'
import type { EventType, LedgerKey } from '../../src/domain/ledger.ts'
import { fillLedgerTallies } from '../bench/speed/world.ts'
import { runScript } from './database.ts'
import { midnight } from './world.ts'

/** A row of a long ledger, without what follows from its number. */
export interface LongRow extends LedgerKey {
  readonly ts: number
  readonly type: EventType
}

/** Returns the rows of a ledger in the order of their arrival, three in each 12 seconds. */
export function longLedger(rowCount: number, blockOf: (index: number) => number): LongRow[] {
  return Array.from({ length: rowCount }, (_, index) => ({
    block: blockOf(index),
    logIndex: index % 3,
    txHash: `0x${index.toString(16).padStart(64, '0')}`,
    ts: midnight + Math.floor(index / 3) * 12,
    type: index % 10_000 === 7_000 ? 'resume' : index % 7 === 0 ? 'withdraw' : 'fee',
  }))
}

/** Stores the rows of ledgers of opened vaults with what the projector derives from them, except spans. */
export async function storeLedgers(
  database: Database,
  ledgers: ReadonlyMap<string, readonly LongRow[]>,
): Promise<void> {
  for (const [vault, rows] of ledgers) {
    await database.prisma.$executeRawUnsafe(
      `insert into ledger_row (vault_id, tx_hash, log_index, block, ts, type, amount_usd, digest)
       select (select id from vault where address = $1), decode(lpad(to_hex(place - 1), 64, '0'), 'hex'), (place - 1) % 3, block,
         $2::bigint + (place - 1) / 3 * 12, type::event_type, case when type <> 'resume' then 1 end, ''
       from jsonb_array_elements_text($3::jsonb) with ordinality as blocks(text, place)
         cross join lateral (select text::bigint as block, case when (place - 1) % 10000 = 7000 then 'resume'
           when (place - 1) % 7 = 0 then 'withdraw' else 'fee' end as type) what`,
      vault,
      midnight,
      JSON.stringify(rows.map(({ block }) => block)),
    )
    await database.prisma.$executeRawUnsafe(
      'update vault set ledger_block = $2::bigint, updated_at = $3::bigint, ledger_in_order = false where address = $1',
      vault,
      rows.reduce((greatest, { block }) => Math.max(greatest, block), 0),
      rows.at(-1)?.ts ?? midnight,
    )
  }
  await fillLedgerTallies((sql) => runScript(database, sql))
}

/** Completes the spans of all ledgers that are not in order, by the statements of the projector. */
export async function completeSpans(database: Database): Promise<void> {
  const unordered = { name: 'unordered_vaults', text: 'select id::integer as id from vault where not ledger_in_order' }
  const counted = { name: 'spans', text: 'select count(*)::integer as count from ledger_span' }
  const ids = (await database.query<{ id: number }>(unordered, [])).map(({ id }) => id)
  for (let before = -1; ;) {
    await database.transaction((transaction) => Promise.resolve(saveLedgerSpans(transaction, ids)))
    const [{ count } = { count: 0 }] = await database.query<{ count: number }>(counted, [])
    if (count === before) return
    before = count
  }
}

/**
 * Returns a page of rows and one more, as a list would be filtered.
 * @param rows newest first
 */
export function pageOfRows<Row extends LongRow>(rows: readonly Row[], page: LedgerPage): Row[] {
  const { types, since, until, first, after } = page
  const isOfTypes = (row: Row): boolean => types === null || types.includes(row.type)
  const isOnPage = (row: Row): boolean =>
    row.ts >= since && row.ts < until && isOfTypes(row) && (after === null || compareKeys(row, after) < 0)
  return rows.filter(isOnPage).slice(0, first + 1)
}

/** Returns the key and type of rows, by which they are compared with those of a page. */
export function identities(rows: readonly (LongRow | LedgerRow)[]): string[] {
  return rows.map(({ block, logIndex, txHash, ts, type }) => [block, logIndex, txHash, ts, type].join(' '))
}

export function compareKeys(one: LedgerKey, other: LedgerKey): number {
  if (one.block !== other.block) return one.block - other.block
  if (one.logIndex !== other.logIndex) return one.logIndex - other.logIndex
  return one.txHash < other.txHash ? -1 : one.txHash > other.txHash ? 1 : 0
}
