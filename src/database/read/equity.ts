import { downsample, mostBucketLevels, pageBuckets, pageLevels } from '../../domain/equity.ts'
import { candidate, ends } from './bucket-ends.ts'
import type { Read, Reader } from '../database.ts'
import { DownsamplingInput } from './downsampling-input.ts'
import { dataVersion } from './commit-log.ts'
import type { EquityRow } from './rows.ts'

/** A span of time in Unix seconds: from, included, to, not included. */
export interface Window {
  readonly since: number
  readonly until: number
}

/**
 * The equity points of vaults in a window, each vault's in order of time: all of them, or where these are more than
 * asked for, the ones that keep the shape of the net-of-flows curve. What that costs goes by how many are asked for, and
 * not by how many there are.
 * @param points how many of each vault, 2 or more
 */
export async function readEquity(
  database: Reader,
  addresses: readonly string[],
  { since, until }: Window,
  points: number,
): Promise<EquityRow[]> {
  const buckets = Math.max(points, leastBuckets)
  const read = await database.query<ReadCandidates>(equityCandidates, [addresses, since, until, buckets])
  return read.flatMap((series) => servedPoints(series, points))
}

/** So many, however few points are asked for: fewer buckets would be a coarse choice. */
const leastBuckets = 64

/**
 * Candidates of a vault, one a line, in order of time: the points that are in the window's whole buckets, and what is
 * before and after these. A line is much cheaper to send and to read than a row.
 */
interface ReadCandidates {
  vaultAddress: string
  before: string
  within: string
  after: string
}

/*
 * `low` and `high` are the first and the last bucket of the finest level that begin in the window; the last one may end
 * outside. `level` is the coarsest that has enough buckets between them, `a` to before `b`, of which the pages from
 * `page_a` to before `page_b` are whole; where none has, it is null, and the window has few points and is read as it is.
 * What is before `a` and after `b` is read from the finer levels, each as far as the coarser one doesn't reach, and at
 * last from the points. How many vaults are named is kept from the planner: it would take fewer than it reckons with for
 * a reason to plan each read anew, which takes longer than the read.
 */
const points = (since: string, until: string): string => `
  (select ts, ${candidate} as line from equity_point
    where vault_address = vault and ts >= ${since} and ts < ${until} offset 0) as point`

/** Their order tells the planner, before it knows the table, which of its indexes to take. */
const buckets = (low: string, high: string): string => `
  (select * from equity_bucket
    where vault_address = vault and equity_bucket.level = at and ordinal >= ${low} and ordinal < ${high}
    order by ordinal offset 0) as bucket
  cross join lateral ${ends}`

/** Of each level below: `a` to before `a_above` and `b_above` to before `b` are beside what the coarser one reaches. */
const finerLevels = `generate_series(1, ${mostBucketLevels}) as at
  cross join lateral (select -(-low >> 2 * (at - 1)) as a, 4 * -(-low >> 2 * at) as a_above,
    4 * (high >> 2 * at) as b_above, high >> 2 * (at - 1) as b where at < level) as bounds`

const equityCandidates: Read = {
  name: 'equity_candidates',
  from: 'named vaults',
  text: `
    with series as materialized (
      select vault, low, low_ts, high, high_ts, (
        select max(level) from generate_series(1, ${mostBucketLevels}) as level
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
          from ${points('case when level > 0 then $2::bigint end', 'low_ts + 1')}
          union all
          select at, ts, ${candidate} from ${finerLevels} cross join lateral ${buckets('a', 'a_above')}
        ) as beside) as beside_low
      cross join lateral (
        select coalesce(string_agg(line, E'\n' order by place, ts), '') as within from (
          select 0 as place, ts, line from ${points('case when level is null then $2::bigint end', '$3::bigint')}
          union all
          select place, ts, line from (select level as at,
            -(-low >> 2 * (level - 1)) as a, -(-low >> 2 * (level - 1 + ${pageLevels})) as page_a,
            high >> 2 * (level - 1) as b, high >> 2 * (level - 1 + ${pageLevels}) as page_b) as bounds
          cross join lateral (
            select ordinal as place, ts, ${candidate} as line
            from ${buckets('a', `least(${pageBuckets} * page_a, b)`)}
            union all
            select ${pageBuckets} * ordinal, 0, candidates from equity_page
            where vault_address = vault and equity_page.level = at and ordinal >= page_a and ordinal < page_b
            union all
            select ordinal, ts, ${candidate} from ${buckets(`${pageBuckets} * greatest(page_a, page_b)`, 'b')}
          ) as of_level
        ) as inside) as between_low_and_high
      cross join lateral (
        select coalesce(string_agg(line, E'\n' order by at desc, ts), '') as after from (
          select 0 as at, ts, line from ${points('case when level > 0 then high_ts end', '$3::bigint')}
          union all
          select at, ts, ${candidate} from ${finerLevels} cross join lateral ${buckets('b_above', 'b')}
        ) as beside) as beside_high`,
}

function servedPoints({ vaultAddress, before, within, after }: ReadCandidates, points: number): EquityRow[] {
  const candidates = new DownsamplingInput(before.length + within.length + after.length)
  // What is beside the whole buckets counts as one bucket on either side, however many finer ones it is made of.
  candidates.addOutline(before)
  candidates.add(within)
  candidates.addOutline(after)
  return downsample(candidates, points).map((index) => candidates.row(vaultAddress, index))
}
