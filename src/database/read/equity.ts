import { downsample, mostBucketLevels, outline } from '../../domain/equity.ts'
import type { Read, Reader } from '../database.ts'
import { Candidates } from './candidates.ts'
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
 * Candidates of a vault, one a line: the points that are in the window's whole buckets, and what is before and after
 * these. A line is much cheaper to send and to read than a row.
 */
interface ReadCandidates {
  vaultAddress: string
  before: string | null
  within: string | null
  after: string | null
}

/*
 * `low` and `high` are the first and the last bucket of the finest level that begin in the window; the last one may end
 * outside. `level` is the coarsest that has enough buckets between them, `a` to before `b`; where none has, it is null,
 * and the window has few points and is read as it is. What is before `a` and after `b` is read from the finer levels,
 * each as far as the coarser one doesn't reach, and at last from the points.
 */
const endLine = (end: 'least' | 'greatest'): string =>
  `concat_ws(' ', ${end}_ts, ${end}_value_usd + ${end}_capital_out_usd - ${end}_capital_in_usd,
    ${end}_value_usd, ${end}_capital_in_usd, ${end}_capital_out_usd)`

const equityCandidates: Read = {
  name: 'equity_candidates',
  from: 'named vaults',
  text: `
    with series as (
      select vault, low, low_ts, high, high_ts, (
        select max(level) from generate_series(1, ${mostBucketLevels}) as level
        where (high >> 2 * (level - 1)) + (-low >> 2 * (level - 1)) >= $4::integer) as level
      from unnest($1::text[]) as wanted(vault)
      left join lateral (
        select ordinal as low, first_ts as low_ts from equity_bucket
        where vault_address = vault and level = 1 and first_ts >= $2::bigint order by first_ts limit 1) first on true
      left join lateral (
        select ordinal as high, first_ts as high_ts from equity_bucket
        where vault_address = vault and level = 1 and first_ts < $3::bigint order by first_ts desc limit 1) last on true)
    select vault as "vaultAddress",
      string_agg(line, E'\n') filter (where side = 'before') as before,
      string_agg(line, E'\n') filter (where side = 'within') as within,
      string_agg(line, E'\n') filter (where side = 'after') as after
    from series cross join lateral (
      select side, concat_ws(' ', ts, net_usd, value_usd, capital_in_usd, capital_out_usd) as line
      from (values
          ('within', level is null, $2::bigint, $3::bigint),
          ('before', level is not null, $2::bigint, low_ts + 1),
          ('after', level is not null, high_ts, $3::bigint)) as span(side, is_read, since, until)
        cross join lateral (
          select * from equity_point where is_read and vault_address = vault and ts >= span.since and ts < span.until
          order by ts offset 0) point
      union all
      select side, ${endLine('least')} || E'\n' || ${endLine('greatest')}
      from generate_series(1, series.level) as at
        cross join lateral (
          select -(-low >> 2 * (at - 1)) as a, high >> 2 * (at - 1) as b, -(-low >> 2 * at) as a_above, high >> 2 * at as b_above
        ) as bounds
        cross join lateral (values
          ('before', at < series.level, a, 4 * a_above),
          ('within', at = series.level, a, b),
          ('after', at < series.level, 4 * b_above, b)) as span(side, is_read, low, high)
        cross join lateral (
          select * from equity_bucket
          where is_read and vault_address = vault and equity_bucket.level = at
            and ordinal >= span.low and ordinal < span.high
          order by ordinal offset 0) bucket
      ) candidate
    group by vault`,
}

function servedPoints({ vaultAddress, before, within, after }: ReadCandidates, points: number): EquityRow[] {
  const parts = [before, within, after].map((part) => (part === null ? '' : `${part}\n`)) as [string, string, string]
  const candidates = new Candidates(parts.join(''))
  const withinAt = parts[0].length
  const afterAt = withinAt + parts[1].length
  const places = candidates.inOrder([
    ...outlineOf(candidates, candidates.placesIn(0, withinAt)),
    ...candidates.placesIn(withinAt, afterAt),
    ...outlineOf(candidates, candidates.placesIn(afterAt, Infinity)),
  ])
  return downsample(candidates.curve(places), points).map((index) => {
    const [ts, netUsd, valueUsd, capitalInUsd, capitalOutUsd] = candidates.fields(places[index] ?? 0) as Fields
    return { vaultAddress, ts: Number(ts), valueUsd, capitalInUsd, capitalOutUsd, netUsd }
  })
}

type Fields = [ts: string, netUsd: string, valueUsd: string, capitalInUsd: string, capitalOutUsd: string]

/** What is beside the whole buckets counts as one bucket on either side, however many finer ones it is made of. */
function outlineOf(candidates: Candidates, places: readonly number[]): number[] {
  return outline(candidates.curve(places)).map((index) => places[index] ?? 0)
}
