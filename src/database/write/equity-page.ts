import {
  bucketFan,
  completePages,
  firstCurveLevel,
  maxPageLevels,
  pageBuckets,
  pagePoints,
} from '../../domain/equity.ts'
import type { Statement, Transaction } from '../database.ts'
import { encodedPoint } from '../read/expressions.ts'
import { curvePagesFromPages, curvePagesFromPoints } from './curve-page.ts'

/** Number of equity points of a vault before and after a batch. */
export interface GrownSeries {
  readonly vaultId: number
  readonly pointsBefore: number
  readonly points: number
}

/**
 * Writes the pages that new points have completed, by one statement for each level, after the points. Pages are immutable:
 * only the newest point of a vault can be replaced, and it is in no complete page.
 */
export function savePages(transaction: Transaction, series: readonly GrownSeries[]): void {
  for (let level = 1; level <= maxPageLevels; level++) {
    const growing = series
      .map(({ vaultId, pointsBefore, points }) => ({
        vaultId,
        points,
        low: completePages(pointsBefore, level),
        high: completePages(points, level),
      }))
      .filter(({ low, high }) => low < high)
    if (growing.length === 0) return
    const values = [
      level,
      growing.map(({ vaultId }) => vaultId),
      growing.map(({ points }) => points),
      growing.map(({ low }) => low),
      growing.map(({ high }) => high),
    ]
    transaction.send(level === 1 ? fromPoints : fromPages, values)
    if (level >= firstCurveLevel)
      transaction.send(level === firstCurveLevel ? curvesFromPoints : curvesFromPages, values)
  }
}

const growing =
  'unnest($2::integer[], $3::integer[], $4::integer[], $5::integer[]) as growing(vault, points, low, high)'

/*
 * Arrays compare element by element: by net of flows, then by time, so that the earlier of equal points is chosen.
 */
const insert = (level: string, points: string): string => `
  insert into equity_page (vault_id, level, ordinal, first_ts, last_ts, candidates)
  select vault, ${level}, bucket / ${pageBuckets}, min(first_ts), max(last_ts),
    string_agg(${encodedPoint('net_usd')}, E'\\n' order by bucket, ts)
  from (
      select vault, bucket, min(first_ts) as first_ts, max(last_ts) as last_ts, min(least) as least, max(greatest) as greatest
      from ${points} group by vault, bucket) bucket
    cross join lateral (values (least[2], least[1], least[3], least[4], least[5]),
      (-greatest[2], greatest[1], greatest[3], greatest[4], greatest[5])
    ) as point(ts, net_usd, capital_in_usd, capital_out_usd, market_delta_usd)
  group by vault, bucket / ${pageBuckets}`

/**
 * Returns the SQL that creates the pages of the first level from points. Only the newest points of a vault, those after its
 * complete pages, are read: few, whatever the length of the series.
 * @param level SQL of the level, 1
 * @param series SQL of rows of a vault, its number of points, and its number of complete pages before and after
 */
export const pagesFromPoints = (level: string, series: string): string =>
  insert(
    level,
    `(select vault, place / ${bucketFan} as bucket, ts as first_ts, ts as last_ts,
      array[net_usd, ts, capital_in_usd, capital_out_usd, market_delta_usd] as least,
      array[net_usd, -ts, capital_in_usd, capital_out_usd, market_delta_usd] as greatest
    from ${series} cross join lateral (
      select *, points - row_number() over (order by ts desc) as place, value_usd + capital_out_usd - capital_in_usd as net_usd
      from equity_point where vault_id = vault order by ts desc limit points - ${pagePoints} * low) point
    where place < ${pagePoints} * high) point`,
  )

/**
 * Returns the SQL that creates pages from those of the level below: a page has two lines for each bucket.
 * @param level SQL of the level
 * @param series as for `pagesFromPoints`
 */
export const pagesFromPages = (level: string, series: string): string =>
  insert(
    level,
    `(select vault, (ordinal * ${2 * pageBuckets} + line - 1) / ${2 * bucketFan} as bucket, first_ts, last_ts,
      array[part[2], part[1], part[3], part[4], part[5]] as least,
      array[part[2], -part[1], part[3], part[4], part[5]] as greatest
    from ${series} cross join lateral (
        select * from equity_page where vault_id = vault and level = ${level} - 1
          and ordinal >= ${bucketFan} * low and ordinal < ${bucketFan} * high order by ordinal) page
      cross join lateral unnest(string_to_array(candidates, E'\\n')) with ordinality as split(text, line)
      cross join lateral (select string_to_array(text, ' ', '')::numeric[] as part offset 0) parts) point`,
  )

const fromPoints: Statement = { name: 'pages_from_points', text: pagesFromPoints('$1::integer', growing) }
const fromPages: Statement = { name: 'pages_from_pages', text: pagesFromPages('$1::integer', growing) }
const curvesFromPoints: Statement = {
  name: 'curve_pages_from_points',
  text: curvePagesFromPoints('$1::integer', growing),
}
const curvesFromPages: Statement = { name: 'curve_pages_from_pages', text: curvePagesFromPages('$1::integer', growing) }
