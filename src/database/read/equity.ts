import {
  bucketFan,
  type CurveName,
  downsample,
  firstCurveLevel,
  type KeptEnds,
  maxPageLevels,
  pageBuckets,
} from '../../domain/equity.ts'
import { encodedPoint } from './expressions.ts'
import type { Read, Reader } from '../database.ts'
import { mergedPages } from './series/curve-pages.ts'
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
 * `points`, returns those that keep the shape of a curve. The cost depends on `points` and not on the length of the series.
 * @param points maximum number for each vault, at least 2
 * @param by the curve whose shape is kept; where the market's part is not known, it is net of flows
 * @see `downsample` in domain/equity.ts
 */
export async function readEquity(
  database: Reader,
  addresses: readonly string[],
  { since, until }: Window,
  points: number,
  by: CurveName = 'net',
): Promise<EquityRow[]> {
  const buckets = Math.max(points, minBuckets)
  const statement = by === 'net' ? netInput : curveInput
  const read = await database.query<EquityInputRow>(statement, [addresses, since, until, buckets])
  return read.flatMap((series) => selectPoints(series, points, by))
}

/**
 * Minimum number of buckets to choose from: with fewer, the result would be coarse when only a few points are
 * requested.
 */
const minBuckets = 64

/**
 * Downsampling input of a vault, ascending by time: the pages of the chosen level in the window, and the finer pages and
 * points before and after them. One text is much cheaper to send and to decode than a row for each point.
 */
interface EquityInputRow {
  vaultAddress: string
  /**
   * Level of the pages in the middle, counted from the finest one that holds the curve; null where the window has few points,
   * which are all in the middle.
   */
  level: number | null
  /** Blocks of points of one finer level each: a form feed, the level, 0 for the points themselves, and lines. */
  before: string
  /** One point a line. */
  within: string
  after: string
}

/*
 * `low` and `high` are the ordinals of the first page of the finest level in the window and of the one after the last.
 * `level` is the coarsest level with enough buckets in its pages between them, [a, b). It is null where no level has enough:
 * then the window has few points, and these are read. The ranges before `a` and after `b` are read from pages of finer
 * levels, and finally from the points, which include the first and the last of the window. The subquery around unnest hides
 * the number of vaults from the planner: otherwise it would create a new plan for each short list, which takes longer than
 * the read. See PostgreSQL documentation, PREPARE, on custom plans.
 */
const pointsBetween = (condition: string): string => `
  (select ts, ${encodedPoint()} as line from equity_point where vault_id = vault and ${condition} offset 0) as point`

/** SQL by which the pages of a curve are read. */
interface CurvePages {
  readonly name: string
  /** The finest level that has them. */
  readonly finest: number
  /** SQL of the text of a page. */
  readonly text: string
  /** SQL of the text between two pages. */
  readonly separator: string
}

const netPages: CurvePages = { name: 'equity_candidates', finest: 1, text: 'candidates', separator: `E'\\n'` }
const curvePages: CurvePages = {
  name: 'equity_curve_candidates',
  finest: firstCurveLevel,
  text: `candidates || E'\\x0b' || coalesce((select curve.candidates from equity_curve_page curve where curve.vault_id = vault
    and curve.level = equity_page.level and curve.ordinal = equity_page.ordinal), '')`,
  separator: `E'\\x1e'`,
}

/** The ORDER BY makes the planner choose the right index before the table has statistics. */
const pagesBetween = ({ finest, text }: CurvePages, low: string, high: string): string => `
  (select ordinal, ${text} as candidates from equity_page
    where vault_id = vault and equity_page.level = at + ${finest - 1} and ordinal >= ${low} and ordinal < ${high}
    order by ordinal offset 0) as page`

/** For each finer level: [a, a_above) and [b_above, b) are the pages beside those of the coarser level. */
const finerLevels = `generate_series(1, ${maxPageLevels}) as at
  cross join lateral (select -(-low >> 2 * (at - 1)) as a, 4 * -(-low >> 2 * at) as a_above,
    4 * (high >> 2 * at) as b_above, high >> 2 * (at - 1) as b where at < level) as bounds`

/** Blocks of the points and of the pages of each finer level on one side. */
const blocksBeside = (pages: CurvePages, points: string, low: string, high: string, order: string): string => `
  select coalesce(string_agg(E'\\f' || at || E'\\n' || lines, '' order by at ${order}), '') as blocks from (
    select 0 as at, string_agg(line, E'\\n' order by ts) as lines from ${pointsBetween(points)}
    union all
    select at, string_agg(candidates, ${pages.separator} order by ordinal) from ${finerLevels}
      cross join lateral ${pagesBetween(pages, low, high)} group by at
  ) as beside where lines is not null`

/** Vaults in a chunk on an embedded database: reading their series takes a few hundredths of a second. */
const maxVaultsInChunk = 4

const inputOf = (pages: CurvePages): Read => ({
  name: pages.name,
  dependsOn: 'named vaults',
  maxKeys: maxVaultsInChunk,
  isLong: true,
  text: `
    with series as materialized (
      select address, vault, low, low_ts, high, high_ts, (
        select max(level) from generate_series(1, ${maxPageLevels}) as level
        where ${pageBuckets} * ((high >> 2 * (level - 1)) + (-low >> 2 * (level - 1))) > $4::integer) as level
      from unnest(array(select unnest($1::text[]))) as wanted(address)
      cross join lateral (select id as vault from vault where vault.address = wanted.address offset 0) keyed
      left join lateral (
        select case when first_ts < $2::bigint then ordinal + 1 else ordinal end as low,
          case when first_ts < $2::bigint then last_ts else first_ts end as low_ts
        from equity_page
        where vault_id = vault and level = ${pages.finest} and last_ts >= $2::bigint order by last_ts limit 1) first on true
      left join lateral (
        select ordinal + 1 as high, last_ts as high_ts from equity_page
        where vault_id = vault and level = ${pages.finest} and last_ts < $3::bigint order by last_ts desc limit 1) last on true)
    select address as "vaultAddress", level, beside_low.blocks as before, within, beside_high.blocks as after, ${dataVersion}
    from series
      cross join lateral (
        ${blocksBeside(pages, 'ts >= case when level > 0 then $2::bigint end and ts <= low_ts', 'a', 'a_above', '')}) as beside_low
      cross join lateral (
        select coalesce(string_agg(line, ${pages.separator} order by place), '') as within from (
          select ts as place, line
          from ${pointsBetween('ts >= case when level is null then $2::bigint end and ts < $3::bigint')}
          union all
          select ordinal, candidates
          from (select level as at, -(-low >> 2 * (level - 1)) as a, high >> 2 * (level - 1) as b) as bounds
            cross join lateral ${pagesBetween(pages, 'a', 'b')}
        ) as inside) as between_low_and_high
      cross join lateral (
        ${blocksBeside(pages, 'ts >= case when level > 0 then high_ts end and ts < $3::bigint', 'b_above', 'b', 'desc')}) as beside_high`,
})

const netInput = inputOf(netPages)
const curveInput = inputOf(curvePages)

function selectPoints(series: EquityInputRow, points: number, by: CurveName): EquityRow[] {
  const { vaultAddress, level, before, within, after } = series
  const input = new DownsamplingInput(before.length + within.length + after.length, by)
  // Before and after the pages of the chosen level, finer buckets are grouped to buckets of that level.
  addBlocks(input, before, level ?? 0, by, 'first')
  input.add(by === 'net' ? within : level === null ? within.replaceAll('\x1e', '\n') : mergedPages(within).text)
  addBlocks(input, after, level ?? 0, by, 'last')
  let previousNetUsd: string | null = null
  return downsample(input, points).map((index) => {
    const row = input.row(vaultAddress, index, previousNetUsd)
    previousNetUsd = row.netUsd
    return row
  })
}

function addBlocks(input: DownsamplingInput, blocks: string, level: number, by: CurveName, end: KeptEnds): void {
  const finest = by === 'net' ? netPages.finest : curvePages.finest
  for (const block of blocks.split('\f').slice(1)) {
    const linesAt = block.indexOf('\n') + 1
    const at = Number(block.slice(0, linesAt))
    const text = block.slice(linesAt)
    if (at === 0) input.addBuckets(text, () => bucketFan ** (level + finest - 1), end)
    else if (by === 'net') input.addBuckets(text, () => 2 * bucketFan ** (level - at), 'none')
    else {
      const merged = mergedPages(text)
      input.addBuckets(merged.text, (group) => merged.linesOf(group, bucketFan ** (level - at)), 'none')
    }
  }
}
