import { maxBucketLevels, pageBuckets, pageLevels, sealedBuckets } from '../../domain/equity.ts'
import { bucketEnds, encodedPoint } from '../read/bucket-ends.ts'
import type { Statement, Transaction } from '../database.ts'

/** Number of equity points of a vault before and after a batch. */
export interface GrownSeries {
  readonly vault: string
  readonly pointsBefore: number
  readonly points: number
}

/**
 * Writes the buckets that new points have sealed and the pages of these buckets, by one statement for each level. The
 * points are written already. Buckets and pages are immutable: only the newest point of a vault can be replaced, and it
 * is in no sealed bucket.
 */
export function saveBuckets(transaction: Transaction, series: readonly GrownSeries[]): void {
  for (let level = 1; level <= maxBucketLevels; level++) {
    const sealing = series
      .map(({ vault, pointsBefore, points }) => ({
        vault,
        points,
        low: sealedBuckets(pointsBefore, level),
        high: sealedBuckets(points, level),
      }))
      .filter(({ low, high }) => low < high)
    if (sealing.length === 0) return
    transaction.send(level === 1 ? fromPoints : fromBuckets, [
      level,
      sealing.map(({ vault }) => vault),
      sealing.map(({ points }) => points),
      sealing.map(({ low }) => low),
      sealing.map(({ high }) => high),
    ])
    if (level > pageLevels) savePages(transaction, level - pageLevels, sealing)
  }
}

/**
 * Writes the pages that are complete. A page is complete when the bucket `pageLevels` above is sealed, and has the same
 * ordinal.
 */
function savePages(
  transaction: Transaction,
  level: number,
  sealing: readonly { vault: string; low: number; high: number }[],
): void {
  transaction.send(pages, [
    level,
    sealing.map(({ vault }) => vault),
    sealing.map(({ low }) => low),
    sealing.map(({ high }) => high),
  ])
}

/*
 * Arrays compare element by element: by net of flows, then by time, so that the earlier of equal points is chosen. The
 * migration fills the table by the same query.
 */
const insert = `
  insert into equity_bucket (vault_address, level, ordinal, first_ts,
    least_ts, least_value_usd, least_capital_in_usd, least_capital_out_usd,
    greatest_ts, greatest_value_usd, greatest_capital_in_usd, greatest_capital_out_usd)
  select vault, $1::integer, place / 4, min(first_ts),
    (min(least))[2], (min(least))[3], (min(least))[4], (min(least))[5],
    -(max(greatest))[2], (max(greatest))[3], (max(greatest))[4], (max(greatest))[5]
  from unnest($2::text[], $3::integer[], $4::integer[], $5::integer[]) as sealing(vault, points, low, high)`

/** The points after a vault's sealed buckets are its newest ones: few, whatever the length of the series. */
const fromPoints: Statement = {
  name: 'buckets_from_points',
  text: `${insert} cross join lateral (
    select ts as first_ts, points - row_number() over (order by ts desc) as place,
      array[net_usd, ts, value_usd, capital_in_usd, capital_out_usd] as least,
      array[net_usd, -ts, value_usd, capital_in_usd, capital_out_usd] as greatest
    from equity_point where vault_address = vault order by ts desc limit points - 4 * low) point
  where place < 4 * high
  group by vault, place / 4`,
}

const fromBuckets: Statement = {
  name: 'buckets_from_buckets',
  text: `${insert} cross join lateral (
    select first_ts, ordinal as place,
      array[least_value_usd + least_capital_out_usd - least_capital_in_usd,
        least_ts, least_value_usd, least_capital_in_usd, least_capital_out_usd] as least,
      array[greatest_value_usd + greatest_capital_out_usd - greatest_capital_in_usd,
        -greatest_ts, greatest_value_usd, greatest_capital_in_usd, greatest_capital_out_usd] as greatest
    from equity_bucket where vault_address = vault and level = $1::integer - 1
      and ordinal between 4 * low and 4 * high - 1 order by ordinal limit 4 * (high - low)) bucket
  group by vault, place / 4`,
}

/** The migration fills the table by the same query. */
const pages: Statement = {
  name: 'equity_pages',
  text: `
  insert into equity_page (vault_address, level, ordinal, candidates)
  select vault, $1::integer, ordinal / ${pageBuckets}, string_agg(${encodedPoint}, E'\n' order by ordinal, ts)
  from unnest($2::text[], $3::integer[], $4::integer[]) as sealing(vault, low, high)
    cross join lateral (
      select * from equity_bucket where vault_address = vault and level = $1::integer
        and ordinal between ${pageBuckets} * low and ${pageBuckets} * high - 1
        order by ordinal limit ${pageBuckets} * (high - low)) bucket
    cross join lateral ${bucketEnds}
  group by vault, ordinal / ${pageBuckets}`,
}
