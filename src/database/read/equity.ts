import {
  bucketFan,
  type CurveName,
  downsample,
  firstCurveLevel,
  type KeptEnds,
  maxPageLevels,
  pageBuckets,
} from '../../domain/equity.ts'
import { encodedPoint, namedParameters } from './expressions.ts'
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
  reader: Reader,
  addresses: readonly string[],
  { since, until }: Window,
  points: number,
  by: CurveName = 'net',
): Promise<EquityRow[]> {
  const buckets = Math.max(points, minBuckets)
  const statement = by === 'net' ? netInput : curveInput
  const read = await reader.query<EquityInputRow>(statement, valuesOf({ addresses, since, until, buckets }))
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
  /** Relative level of the pages in the middle; null where the window has few points, which are all in the middle. */
  relativeLevel: number | null
  /** Blocks of points of one finer level each: a form feed, the relative level, 0 for the points themselves, and lines. */
  before: string
  /** One point a line. */
  within: string
  after: string
}

/*
 * Relative levels count from the finest level that has pages of the curve, which is 1; the level in the table is greater by
 * `finest - 1`. A page of a level spans four pages of the next finer one. `low` and `high` are the ordinals, at relative level 1, of
 * the first page in the window and of the one after the last. The pages in the middle are of the coarsest level with enough
 * buckets in its whole pages between them; the ranges beside these are read from pages of finer levels, and finally from the
 * points, which include the first and the last of the window. Where no level has enough, the window has few points: these are read.
 *
 * Example: for `low` 5, `high` 38 and more than 64 buckets, of which each page has 16.
 *
 *   relative level   whole pages in the window        read
 *   3                1, which spans 16 to 31 of 1     none: 16 buckets are too few
 *   2                2 to 8, which span 8 to 35 of 1  all, as the middle: 112 buckets
 *   1                5 to 37                          5 to 7 before the middle, 36 and 37 after it
 *   0, the points                                     those before page 5 of 1, and after page 37
 */
const { sql: parameters, values: valuesOf } = namedParameters(['addresses', 'since', 'until', 'buckets'])
const since = `${parameters.since}::bigint`
const until = `${parameters.until}::bigint`

/** SQL that divides by a power of two and rounds up: a shift rounds down, negative numbers too. */
const ceilShift = (value: string, bits: string): string => `-(-${value} >> ${bits})`
/** SQL of the number of bits that ordinals of a level have less than those of relative level 1: two a level, as a page spans four. */
const bitsAbove = (level: string): string => `2 * (${level} - 1)`
/** SQL of the first whole page of a relative level in the window. */
const firstPage = (level: string): string => ceilShift('low', bitsAbove(level))
/** SQL of the page after the last whole page of a relative level in the window. */
const endPage = (level: string): string => `(high >> ${bitsAbove(level)})`

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
const pagesBetween = ({ finest, text }: CurvePages, first: string, end: string): string => `
  (select ordinal, ${text} as candidates from equity_page
    where vault_id = vault and equity_page.level = at_level + ${finest - 1} and ordinal >= ${first} and ordinal < ${end}
    order by ordinal offset 0) as page`

/** For each finer level than that of the middle: its whole pages, and those of them that pages of the next coarser level span. */
const finerLevels = `generate_series(1, ${maxPageLevels}) as at_level
  cross join lateral (select ${firstPage('at_level')} as first_page, ${bucketFan} * ${firstPage('(at_level + 1)')} as first_spanned,
    ${bucketFan} * ${endPage('(at_level + 1)')} as end_spanned, ${endPage('at_level')} as end_page
    where at_level < relative_level) as bounds`

/** Blocks of the points and of the pages of each finer level on one side. */
const blocksBeside = (pages: CurvePages, points: string, first: string, end: string, order: string): string => `
  select coalesce(string_agg(E'\\f' || at_level || E'\\n' || lines, '' order by at_level ${order}), '') as blocks from (
    select 0 as at_level, string_agg(line, E'\\n' order by ts) as lines from ${pointsBetween(points)}
    union all
    select at_level, string_agg(candidates, ${pages.separator} order by ordinal) from ${finerLevels}
      cross join lateral ${pagesBetween(pages, first, end)} group by at_level
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
        where ${pageBuckets} * (${endPage('level')} - ${firstPage('level')}) > ${parameters.buckets}::integer) as relative_level
      from unnest(array(select unnest(${parameters.addresses}::text[]))) as wanted(address)
      cross join lateral (select id as vault from vault where vault.address = wanted.address offset 0) keyed
      left join lateral (
        select case when first_ts < ${since} then ordinal + 1 else ordinal end as low,
          case when first_ts < ${since} then last_ts else first_ts end as low_ts
        from equity_page
        where vault_id = vault and level = ${pages.finest} and last_ts >= ${since} order by last_ts limit 1) first on true
      left join lateral (
        select ordinal + 1 as high, last_ts as high_ts from equity_page
        where vault_id = vault and level = ${pages.finest} and last_ts < ${until} order by last_ts desc limit 1) last on true)
    select address as "vaultAddress", relative_level as "relativeLevel", beside_low.blocks as before, within, beside_high.blocks as after, ${dataVersion}
    from series
      cross join lateral (
        ${blocksBeside(pages, `ts >= case when relative_level > 0 then ${since} end and ts <= low_ts`, 'first_page', 'first_spanned', '')}) as beside_low
      cross join lateral (
        select coalesce(string_agg(line, ${pages.separator} order by place), '') as within from (
          select ts as place, line
          from ${pointsBetween(`ts >= case when relative_level is null then ${since} end and ts < ${until}`)}
          union all
          select ordinal, candidates
          from (select relative_level as at_level, ${firstPage('relative_level')} as first_page, ${endPage('relative_level')} as end_page) as bounds
            cross join lateral ${pagesBetween(pages, 'first_page', 'end_page')}
        ) as inside) as between_low_and_high
      cross join lateral (
        ${blocksBeside(pages, `ts >= case when relative_level > 0 then high_ts end and ts < ${until}`, 'end_spanned', 'end_page', 'desc')}) as beside_high`,
})

const netInput = inputOf(netPages)
const curveInput = inputOf(curvePages)

function selectPoints(series: EquityInputRow, points: number, by: CurveName): EquityRow[] {
  const { vaultAddress, relativeLevel, before, within, after } = series
  const input = new DownsamplingInput(before.length + within.length + after.length, by)
  // Before and after the pages of the chosen level, finer buckets are grouped to buckets of that level.
  addBlocks(input, before, relativeLevel ?? 0, by, 'first')
  input.add(by === 'net' ? within : relativeLevel === null ? within.replaceAll('\x1e', '\n') : mergedPages(within).text)
  addBlocks(input, after, relativeLevel ?? 0, by, 'last')
  let previousNetUsd: string | null = null
  return downsample(input, points).map((index) => {
    const row = input.row(vaultAddress, index, previousNetUsd)
    previousNetUsd = row.netUsd
    return row
  })
}

/** @param relativeLevel that of the pages in the middle */
function addBlocks(
  input: DownsamplingInput,
  blocks: string,
  relativeLevel: number,
  by: CurveName,
  end: KeptEnds,
): void {
  const finest = by === 'net' ? netPages.finest : curvePages.finest
  for (const block of blocks.split('\f').slice(1)) {
    const linesAt = block.indexOf('\n') + 1
    const levelOfBlock = Number(block.slice(0, linesAt))
    const text = block.slice(linesAt)
    if (levelOfBlock === 0) input.addBuckets(text, () => bucketFan ** (relativeLevel + finest - 1), end)
    else if (by === 'net') input.addBuckets(text, () => 2 * bucketFan ** (relativeLevel - levelOfBlock), 'none')
    else {
      const merged = mergedPages(text)
      input.addBuckets(
        merged.text,
        (group) => merged.linesOf(group, bucketFan ** (relativeLevel - levelOfBlock)),
        'none',
      )
    }
  }
}
