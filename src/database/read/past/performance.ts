import {
  type DayGrowth,
  type DayWindow,
  maxPerformanceDays,
  type Performance,
  performanceOf,
} from '../../../domain/figures/performance.ts'
import type { Read, Reader } from '../../database.ts'
import { dataVersion } from '../commit-log.ts'
import { namedVaults } from '../expressions.ts'

/** The days of a vault or a strategy. */
interface SeriesRow {
  /** Address of the vault, or id of the strategy. */
  readonly key: string
  /** Number, flags and growth of each day, all separated by spaces; null where there is no day. */
  readonly days: string | null
  /** Time of the newest fact; for a strategy, the end of its newest complete day. Unix seconds. */
  readonly newestTs: number
}

/** Flags of a day with value at its start, and at its end. */
const [withStart, withEnd] = [1, 2]
/** SQL aggregate of days in their order: `19600 3 1.0021` is one with value at its start and end, which grew by 0.21 %. */
const numbers = `string_agg(concat_ws(' ', day, (start_usd <> 0)::integer * ${withStart} + (end_usd <> 0)::integer * ${withEnd},
  growth::float8), ' ' order by day)`

/** SQL that selects the newest days, and the day before them: at least those of the longest window. */
const newestDays = `order by day desc limit ${maxPerformanceDays + 1}`

/** Maximum number of series in one statement: ten years of each block the gateway for some milliseconds. */
const maxSeries = 5

/** An embedded database, which runs in the gateway's process, reads the series of vaults one by one. */
const seriesOfChunk = 1

/*
 * The newest day before the window states the value at its start. A day is over when the newest fact is at its end or later,
 * whether that leaves an equity point or not: older facts are refused.
 */
const daysOfVaults: Read = {
  name: 'days_of_vaults',
  dependsOn: 'named vaults',
  batching: { kind: 'keyed', keyProperty: 'key' },
  maxKeys: seriesOfChunk,
  isLong: true,
  text: `select address as key, updated_at::float8 as "newestTs", found.days, ${dataVersion}
    from ${namedVaults}
      cross join lateral (select id, address, updated_at
        from vault where address = list.vault offset 0) vault
      cross join lateral (select ${numbers} as days from (
        select * from vault_day where vault_id = vault.id and day <= $3::integer and day >= coalesce(
          (select max(day) from vault_day where vault_id = vault.id and day < $2::integer), $2::integer) ${newestDays}) held) found`,
}

/*
 * A strategy's value at the start of a day is the sum of all changes before it. Only complete days count, as for the strategy's
 * other figures: a cached response stays valid after marks of its vaults.
 */
const daysOfStrategies: Read = {
  name: 'days_of_strategies',
  dependsOn: 'catalogue',
  batching: { kind: 'keyed', keyProperty: 'key' },
  maxKeys: maxSeries,
  isLong: true,
  text: `select strategy.id as key, (coalesce(figures_day, -1) + 1) * 86400::float8 as "newestTs", found.days, ${dataVersion}
    from strategy cross join lateral (
      select ${numbers} as days from (
        select day, before_usd as start_usd, before_usd + change_usd as end_usd,
          case when before_usd > 0 then 1 + gain_usd / before_usd else 1 end as growth
        from (select *, sum(change_usd) over (order by day) - change_usd as before_usd from strategy_day
          where strategy_id = strategy.id and day <= least($3::integer, coalesce(figures_day, -1))) summed
        where day >= coalesce((select max(day) from strategy_day
          where strategy_id = strategy.id and day < $2::integer), $2::integer) ${newestDays}) held) found
    where strategy.id = any($1::text[])`,
}

/**
 * Reads the performance of vaults over a window.
 * @returns performances by address
 */
export function readVaultPerformance(
  reader: Reader,
  addresses: readonly string[],
  days: DayWindow,
): Promise<Map<string, Performance>> {
  return readPerformance(reader, daysOfVaults, addresses, days)
}

/**
 * Reads the performance of strategies over a window.
 * @returns performances by id
 */
export function readStrategyPerformance(
  reader: Reader,
  ids: readonly string[],
  days: DayWindow,
): Promise<Map<string, Performance>> {
  return readPerformance(reader, daysOfStrategies, ids, days)
}

async function readPerformance(
  reader: Reader,
  read: Read,
  keys: readonly string[],
  window: DayWindow,
): Promise<Map<string, Performance>> {
  const found = new Map<string, Performance>()
  // The batch scheduler does not split the keys of a request. Here they are split, so that few series are in memory at a time.
  for (let from = 0; from < keys.length; from += maxSeries) {
    const values = [keys.slice(from, from + maxSeries), window.firstDay, window.lastDay]
    const rows = await reader.query<SeriesRow>(read, values)
    for (const { key, days, newestTs } of rows) {
      found.set(key, performanceOf(daysOf(days), window, newestTs))
    }
  }
  return found
}

function daysOf(text: string | null): DayGrowth[] {
  if (text === null) return []
  const texts = text.split(' ')
  const days: DayGrowth[] = []
  for (let at = 0; at < texts.length; at += 3) {
    const values = Number(texts[at + 1])
    days.push({
      day: Number(texts[at]),
      hasStart: (values & withStart) !== 0,
      hasEnd: (values & withEnd) !== 0,
      growth: Number(texts[at + 2]),
    })
  }
  return days
}
