import { downsample, maxBucketLevels, pageBuckets, pageLevels } from '../../domain/equity.ts'
import { bucketEnds, encodedPoint } from './bucket-ends.ts'
import type { Read, Reader } from '../database.ts'
import { DownsamplingInput } from './downsampling-input.ts'
import { dataVersion } from './commit-log.ts'
import type { EquityRow } from './rows.ts'

/** An interval of time in Unix seconds: `since` is included, `until` is excluded. */
export interface Window {
  readonly since: number
  readonly until: number
}

/**
 * Reads the equity points of vaults in a window, ascending by time for each vault. Where a vault has more than
 * `points`, returns those that keep the shape of its net-of-flows curve. The cost depends on `points` and not on the
 * length of the series.
 * @param points maximum number for each vault, at least 2
 * @see `downsample` in domain/equity.ts
 */
export async function readEquity(
  database: Reader,
  addresses: readonly string[],
  { since, until }: Window,
  points: number,
): Promise<EquityRow[]> {
  const buckets = Math.max(points, minBuckets)
  const read = await database.query<EquityInputRow>(equityInput, [addresses, since, until, buckets])
  return read.flatMap((series) => selectPoints(series, points))
}

/**
 * Minimum number of buckets to choose from: with fewer, the result would be coarse when only a few points are
 * requested.
 */
const minBuckets = 64

/**
 * Downsampling input of a vault, one point a line, ascending by time: the points in whole buckets of the window, before
 * and after them. One text is much cheaper to send and to decode than a row for each point.
 */
interface EquityInputRow {
  vaultAddress: string
  before: string
  within: string
  after: string
}

/*
 * `low` and `high` are the ordinals of the first and last bucket of the finest level that begin in the window; the last
 * one may end outside. `level` is the coarsest level with enough buckets in between, [a, b), whose complete pages are
 * [page_a, page_b). It is null where no level has enough: then the window has few points, which are read themselves.
 * The ranges before `a` and after `b` are read from finer levels, and at last from the points. The subquery around
 * unnest hides the number of vaults from the planner: otherwise it would plan anew for each short list, which takes
 * longer than the read. See PostgreSQL documentation, PREPARE, on custom plans.
 */
const pointsBetween = (since: string, until: string): string => `
  (select ts, ${encodedPoint} as line from equity_point
    where vault_address = vault and ts >= ${since} and ts < ${until} offset 0) as point`

/** The ORDER BY makes the planner choose the right index before the table has statistics. */
const bucketsBetween = (low: string, high: string): string => `
  (select * from equity_bucket
    where vault_address = vault and equity_bucket.level = at and ordinal >= ${low} and ordinal < ${high}
    order by ordinal offset 0) as bucket
  cross join lateral ${bucketEnds}`

/** For each finer level: [a, a_above) and [b_above, b) are the buckets beside those of the coarser level. */
const finerLevels = `generate_series(1, ${maxBucketLevels}) as at
  cross join lateral (select -(-low >> 2 * (at - 1)) as a, 4 * -(-low >> 2 * at) as a_above,
    4 * (high >> 2 * at) as b_above, high >> 2 * (at - 1) as b where at < level) as bounds`

/** Vaults in a chunk on an embedded database: reading their series takes a few hundredths of a second. */
const maxVaultsInChunk = 4

const equityInput: Read = {
  name: 'equity_candidates',
  source: 'named vaults',
  batching: { kind: 'chunked', maxKeys: maxVaultsInChunk },
  text: `
    with series as materialized (
      select vault, low, low_ts, high, high_ts, (
        select max(level) from generate_series(1, ${maxBucketLevels}) as level
        where (high >> 2 * (level - 1)) + (-low >> 2 * (level - 1)) >= $4::integer) as level
      from unnest(array(select unnest($1::text[]))) as wanted(vault)
      left join lateral (
        select ordinal as low, first_ts as low_ts from equity_bucket
        where vault_address = vault and level = 1 and first_ts >= $2::bigint order by first_ts limit 1) first on true
      left join lateral (
        select ordinal as high, first_ts as high_ts from equity_bucket
        where vault_address = vault and level = 1 and first_ts < $3::bigint order by first_ts desc limit 1) last on true)
    select vault as "vaultAddress", before, within, after, ${dataVersion}
    from series
      cross join lateral (
        select coalesce(string_agg(line, E'\n' order by at, ts), '') as before from (
          select 0 as at, ts, line
          from ${pointsBetween('case when level > 0 then $2::bigint end', 'low_ts + 1')}
          union all
          select at, ts, ${encodedPoint} from ${finerLevels} cross join lateral ${bucketsBetween('a', 'a_above')}
        ) as beside) as beside_low
      cross join lateral (
        select coalesce(string_agg(line, E'\n' order by place, ts), '') as within from (
          select 0 as place, ts, line from ${pointsBetween('case when level is null then $2::bigint end', '$3::bigint')}
          union all
          select place, ts, line from (select level as at,
            -(-low >> 2 * (level - 1)) as a, -(-low >> 2 * (level - 1 + ${pageLevels})) as page_a,
            high >> 2 * (level - 1) as b, high >> 2 * (level - 1 + ${pageLevels}) as page_b) as bounds
          cross join lateral (
            select ordinal as place, ts, ${encodedPoint} as line
            from ${bucketsBetween('a', `least(${pageBuckets} * page_a, b)`)}
            union all
            select ${pageBuckets} * ordinal, 0, candidates from equity_page
            where vault_address = vault and equity_page.level = at and ordinal >= page_a and ordinal < page_b
            union all
            select ordinal, ts, ${encodedPoint} from ${bucketsBetween(`${pageBuckets} * greatest(page_a, page_b)`, 'b')}
          ) as of_level
        ) as inside) as between_low_and_high
      cross join lateral (
        select coalesce(string_agg(line, E'\n' order by at desc, ts), '') as after from (
          select 0 as at, ts, line from ${pointsBetween('case when level > 0 then high_ts end', '$3::bigint')}
          union all
          select at, ts, ${encodedPoint} from ${finerLevels} cross join lateral ${bucketsBetween('b_above', 'b')}
        ) as beside) as beside_high`,
}

function selectPoints({ vaultAddress, before, within, after }: EquityInputRow, points: number): EquityRow[] {
  const input = new DownsamplingInput(before.length + within.length + after.length)
  // The points beside the whole buckets count as one bucket on each side, however many finer buckets they come from.
  input.addExtremes(before)
  input.add(within)
  input.addExtremes(after)
  return downsample(input, points).map((index) => input.row(vaultAddress, index))
}
