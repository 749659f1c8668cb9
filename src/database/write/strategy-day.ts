import { Decimal } from '../../domain/decimal.ts'
import { usdText } from '../../domain/flows.ts'
import { type StrategyChange, type VaultDay, windowStart } from '../../domain/returns.ts'
import type { Statement, Transaction } from '../database.ts'
import { insertSet } from './sets.ts'

/** A change of a vault's day, for the sums of its strategy. */
export interface ChangedDay {
  readonly strategyId: string
  /** As it was before; null where it was not stored. */
  readonly before: DayEnd | null
  readonly after: DayEnd
}

/** A vault's growth on a day, and its value at the end. */
export interface DayEnd {
  readonly day: VaultDay
  readonly endUsd: Decimal
}

const addDays = insertSet(
  'strategy_day',
  { strategy_id: 'text', day: 'integer', change_usd: 'numeric', gain_usd: 'numeric' },
  `on conflict (strategy_id, day) do update set change_usd = strategy_day.change_usd + excluded.change_usd,
    gain_usd = strategy_day.gain_usd + excluded.gain_usd`,
)

/** Changes of a strategy's vaults over a day. */
export interface ChangedStrategyDay extends StrategyChange {
  readonly strategyId: string
}

/** Sums the changes of vaults' days by strategy and day. */
export function sumDays(changes: readonly ChangedDay[]): ChangedStrategyDay[] {
  const sums = new Map<string, ChangedStrategyDay>()
  for (const { strategyId, before, after } of changes) {
    const { day } = after.day
    const key = `${day} ${strategyId}`
    const changeUsd = changeOf(after).minus(before === null ? 0 : changeOf(before))
    const gainUsd = gainOf(after).minus(before === null ? 0 : gainOf(before))
    const sum = sums.get(key)
    sums.set(key, {
      strategyId,
      day,
      changeUsd: sum?.changeUsd.plus(changeUsd) ?? changeUsd,
      gainUsd: sum?.gainUsd.plus(gainUsd) ?? gainUsd,
    })
  }
  return [...sums.values()]
}

/**
 * Adds changes to the days of strategies. All writers change the same rows: it must follow `appendCommit`, whose lock
 * serialises them.
 */
export function addToStrategyDays(transaction: Transaction, changes: readonly ChangedStrategyDay[]): void {
  addDays(
    transaction,
    changes.map(({ strategyId, day, changeUsd, gainUsd }) => ({
      strategy_id: strategyId,
      day,
      change_usd: usdText(changeUsd),
      gain_usd: gainUsd.toFixed(),
    })),
  )
}

/** The days before the window are summed to one row, dated to the day before its first. */
const storedChanges: Statement = {
  name: 'changes_of_strategy',
  text: `select greatest(day, $2::integer - 1) as day, sum(change_usd)::text as "changeUsd", sum(gain_usd)::text as "gainUsd"
    from strategy_day where strategy_id = $1 and day <= $3::integer group by 1`,
}

/**
 * Reads the changes of a strategy up to a day, as other transactions have stored them. Changes before the window of its
 * figures are summed to one.
 */
export async function readStrategyChanges(
  transaction: Transaction,
  id: string,
  lastDay: number,
): Promise<StrategyChange[]> {
  const rows = await transaction.query<{ day: number; changeUsd: string; gainUsd: string }>(storedChanges, [
    id,
    windowStart(lastDay),
    lastDay,
  ])
  return rows.map(({ day, changeUsd, gainUsd }) => ({
    day,
    changeUsd: new Decimal(changeUsd),
    gainUsd: new Decimal(gainUsd),
  }))
}

function changeOf({ day, endUsd }: DayEnd): Decimal {
  return endUsd.minus(day.startUsd)
}

function gainOf({ day }: DayEnd): Decimal {
  return day.startUsd.times(day.growth.minus(1))
}
