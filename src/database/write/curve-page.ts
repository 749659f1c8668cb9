import { bucketFan, firstCurveLevel, pageBuckets } from '../../domain/equity.ts'
import { encodedPoint } from '../read/expressions.ts'

/** Points in a bucket of the first level that has curve pages, and in its pages. */
const bucketPoints = bucketFan ** firstCurveLevel
const curvePagePoints = pageBuckets * bucketPoints

/*
 * Arrays compare element by element: by the curve, then by time, so that the earlier of equal points is chosen. The two points
 * of a bucket by net of flows are left out, because its equity page has them. Window functions are used, because the server
 * would join each point with each bucket without statistics of the tables.
 */
const insertCurves = (level: string, points: string): string => `
  insert into equity_curve_page (vault_id, level, ordinal, candidates)
  select vault, ${level}, bucket / ${pageBuckets},
    string_agg((bucket % ${pageBuckets})::text || ' ' || ${encodedPoint('net_usd')}, E'\\n' order by ts)
  from (
    select *, min(array[net_usd, ts]) over points_of_bucket as a, min(array[-net_usd, ts]) over points_of_bucket as b,
      min(array[value_usd, ts]) over points_of_bucket as c, min(array[-value_usd, ts]) over points_of_bucket as d,
      min(array[market_delta_usd, ts]) filter (where market_delta_usd is not null) over points_of_bucket as e,
      min(array[-market_delta_usd, ts]) filter (where market_delta_usd is not null) over points_of_bucket as f,
      min(array[net_usd - market_delta_usd, ts]) filter (where market_delta_usd is not null) over points_of_bucket as g,
      min(array[market_delta_usd - net_usd, ts]) filter (where market_delta_usd is not null) over points_of_bucket as h
    from (${points}) point window points_of_bucket as (partition by vault, bucket)) point
  where ts in (c[2], d[2], e[2], f[2], g[2], h[2]) and ts <> a[2] and ts <> b[2]
  group by vault, bucket / ${pageBuckets}`

/**
 * Returns the SQL that creates the curve pages of the first level from points.
 * @param level SQL of the level
 * @param series as for `pagesFromPoints`
 */
export const curvePagesFromPoints = (level: string, series: string): string =>
  insertCurves(
    level,
    `select vault, place / ${bucketPoints} as bucket, ts, value_usd, net_usd, capital_in_usd, capital_out_usd, market_delta_usd
    from ${series} cross join lateral (
      select *, points - row_number() over (order by ts desc) as place, value_usd + capital_out_usd - capital_in_usd as net_usd
      from equity_point where vault_id = vault order by ts desc limit points - ${curvePagePoints} * low) found
    where place < ${curvePagePoints} * high`,
  )

/**
 * Returns the SQL that creates curve pages from the pages and curve pages of the level below.
 * @param level SQL of the level
 * @param series as for `pagesFromPoints`
 */
export const curvePagesFromPages = (level: string, series: string): string =>
  insertCurves(
    level,
    `select distinct vault, bucket, part[1] as ts, part[2] + part[3] - part[4] as value_usd, part[2] as net_usd,
      part[3] as capital_in_usd, part[4] as capital_out_usd, part[5] as market_delta_usd
    from ${series} cross join lateral (
        select (ordinal * ${2 * pageBuckets} + line - 1) / ${2 * bucketFan} as bucket, text
        from equity_page cross join lateral unnest(string_to_array(candidates, E'\\n')) with ordinality as split(text, line)
        where vault_id = vault and level = ${level} - 1 and ordinal >= ${bucketFan} * low and ordinal < ${bucketFan} * high
        union all
        select (ordinal * ${pageBuckets} + split_part(line, ' ', 1)::integer) / ${bucketFan}, substr(line, strpos(line, ' ') + 1)
        from equity_curve_page cross join lateral unnest(string_to_array(candidates, E'\\n')) as split(line)
        where vault_id = vault and level = ${level} - 1 and ordinal >= ${bucketFan} * low and ordinal < ${bucketFan} * high
      ) below
      cross join lateral (select string_to_array(text, ' ', '')::numeric[] as part offset 0) parts`,
  )
