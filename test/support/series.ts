import type { Database } from '../../src/database/database.ts'
import { savePages } from '../../src/database/write/equity-page.ts'
import { midnight } from './world.ts'

/** Returns the Unix seconds of a point of a long series, which has a point each minute. */
export const minuteOf = (index: number): number => midnight + 60 * index

/** Index of the point at which a series has a spike, if it is long enough. */
export const spikeAt = 123_457

/**
 * Inserts equity points of an opened vault by SQL, which is faster than facts: one point each minute, of waves with noise, and
 * a deposit after each thousand.
 */
export async function lengthenSeries(database: Database, vault: string, points: number): Promise<void> {
  await database.transaction(async (transaction) => {
    const text = 'select id from vault where address = $1'
    const [{ id: vaultId } = { id: 0 }] = await transaction.query<{ id: number }>({ name: 'lengthened', text }, [vault])
    const insert = {
      name: 'lengthen_series',
      text: `insert into equity_point (vault_id, ts, value_usd, capital_in_usd, capital_out_usd)
       select $1::integer, ${minuteOf(0)} + 60 * index, capital + net, capital, 0
       from generate_series(0, $2::integer - 1) as index cross join lateral (
         select 1000 * (1 + index / 1000) as capital,
           round((900 * sin(index / 5000.0) + 50 * sin(index / 7.0) + (index * 7919 % 1013) / 100.0
             + case index when ${spikeAt} then 5000 else 0 end)::numeric, 6) as net
       ) found`,
    }
    const update = {
      name: 'lengthen_vault',
      text: `update vault set equity_at = $2::bigint, updated_at = $2::bigint, point_count = $3::integer where id = $1::integer`,
    }
    transaction.send(insert, [vaultId, points])
    transaction.send(update, [vaultId, minuteOf(points - 1), points])
    savePages(transaction, [{ vaultId, pointsBefore: 0, points }])
  })
}
