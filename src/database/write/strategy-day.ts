import type { Decimal } from '../../domain/decimal.ts'
import { usdText } from '../../domain/flows.ts'
import type { VaultDay } from '../../domain/returns.ts'
import type { Transaction } from '../database.ts'
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

/**
 * Adds the changes of vaults' days to those of their strategies. All writers change the same rows: it must follow `appendCommit`,
 * whose lock puts them in turn.
 */
export function addToStrategyDays(transaction: Transaction, changes: readonly ChangedDay[]): void {
  const sums = new Map<string, { strategyId: string; day: number; changeUsd: Decimal; gainUsd: Decimal }>()
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
  addDays(
    transaction,
    Array.from(sums.values(), ({ strategyId, day, changeUsd, gainUsd }) => ({
      strategy_id: strategyId,
      day,
      change_usd: usdText(changeUsd),
      gain_usd: gainUsd.toFixed(),
    })),
  )
}

function changeOf({ day, endUsd }: DayEnd): Decimal {
  return endUsd.minus(day.startUsd)
}

function gainOf({ day }: DayEnd): Decimal {
  return day.startUsd.times(day.growth.minus(1))
}
