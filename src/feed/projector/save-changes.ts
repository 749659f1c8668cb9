import type { Transaction } from '../../database/database.ts'
import { changedTags } from '../../database/commits/cache-tags.ts'
import type { CacheTag } from '../../database/commits/change-listener.ts'
import { saveDays, savePoints } from '../../database/write/equity.ts'
import { saveEvents, saveTallies } from '../../database/write/ledger.ts'
import { savePages } from '../../database/write/equity-page.ts'
import { replacePositions } from '../../database/write/position.ts'
import {
  type ChangedDays,
  type FiguresDay,
  lockStrategies,
  refreshFigures,
  saveStrategies,
} from '../../database/write/strategy.ts'
import type { ChangedStrategyDay } from '../../database/write/strategy-day.ts'
import { saveScreens } from '../../database/write/universe.ts'
import { saveVaults } from '../../database/write/vault.ts'
import type { VaultRecord } from '../../database/write/vaults/vault-record.ts'
import { saveLayouts, saveVaultChanges } from '../../database/write/vaults/history.ts'
import { saveLedgerSpans } from '../../database/write/vaults/ledger-span.ts'
import { replaceHoldings } from '../../database/write/vaults/holding.ts'
import { saveOwners } from '../../database/write/vaults/owner.ts'
import type { CountChange } from '../../database/write/vaults/vault-tally.ts'
import { dayOf } from '../../domain/returns.ts'
import { type Changes, countedBy } from './changes.ts'
import type { Projection } from './projection.ts'
import { takeUnwrittenPoints } from './series.ts'

/** Writes the points of stored vaults that no later fact can replace: all but the newest, while more facts are projected. */
export function saveSettledPoints(transaction: Transaction, { changes }: Projection): void {
  const stored = [...changes.series].filter(([address]) => !changes.opened.has(address))
  savePoints(
    transaction,
    stored.flatMap(([, series]) => takeUnwrittenPoints(series, false)),
  )
}

/** Writes the rows that a batch changes, except points that are already written and the figures of strategies. */
export async function saveChanges(
  transaction: Transaction,
  { state, changes, tallies }: Projection,
  nonce: string,
): Promise<void> {
  const changedRecords = [...changes.changedVaults.keys()].map((address) => state.vaults.get(address) as VaultRecord)
  saveStrategies(transaction, changes.strategies)
  await saveScreens(transaction, changes.screens)
  saveVaults(
    transaction,
    changedRecords.filter(({ address }) => changes.opened.has(address)),
    changedRecords.filter(({ address }) => !changes.opened.has(address)),
  )
  saveOwners(transaction, [...changes.owners.values()])
  replaceHoldings(
    transaction,
    changedRecords.filter(({ address }) => changes.benchmarkChanged.has(address)),
  )
  const series = [...changes.series.values()]
  savePoints(
    transaction,
    series.flatMap((each) => takeUnwrittenPoints(each, true)),
  )
  savePages(
    transaction,
    Array.from(changes.series, ([address, { vaultId, pointsBefore }]) => {
      return { vaultId, pointsBefore, points: (state.vaults.get(address) as VaultRecord).pointCount }
    }),
  )
  saveDays(
    transaction,
    series.flatMap(({ days }) => days),
  )
  saveLayouts(transaction, changes.layouts)
  saveVaultChanges(transaction, [...changes.vaultChanges.values()])
  saveEvents(transaction, changes.events, nonce)
  saveTallies(transaction, tallies.added())
  saveLedgerSpans(
    transaction,
    changedRecords.filter(({ ledgerInOrder }) => !ledgerInOrder).map(({ id }) => id),
  )
  replacePositions(transaction, changes.positions)
}

/**
 * Refreshes the figures of the strategies that a batch affects. Locks these strategies against other writers, so it runs
 * after {@link saveChanges}.
 * @param days changes of days that are not stored yet
 * @returns whether figures were refreshed
 */
export async function refreshStrategies(
  transaction: Transaction,
  { changes }: Projection,
  figures: readonly FiguresDay[],
  days: readonly ChangedStrategyDay[],
): Promise<boolean> {
  const stale = await lockStrategies(transaction, figures, changedDays(changes))
  await refreshFigures(transaction, stale, days)
  return stale.size > 0
}

/** Returns the cache tags of everything that a batch changes; none where no response can change. */
export function cacheTagsOf({ changedVaults, strategies, screens }: Changes, hasNewFigures: boolean): CacheTag[] {
  const isScreened = screens.length > 0
  return changedTags([...changedVaults.keys()], {
    catalogue: strategies.length > 0 || isScreened || hasNewFigures,
    universe: isScreened,
  })
}

/** Returns the properties by which each changed vault is counted, before and after the batch. */
export function countChanges({ state, changes }: Projection): CountChange[] {
  return Array.from(changes.changedVaults, ([address, before]) => {
    return { before, after: countedBy(state.vaults.get(address) as VaultRecord) }
  })
}

/** Returns the days of each strategy that a batch changes. */
function changedDays({ series }: Changes): Map<string, ChangedDays> {
  const changed = new Map<string, ChangedDays>()
  for (const { strategyId, points } of series.values()) {
    const [oldest, newest] = [points[0], points.at(-1)]
    if (oldest === undefined || newest === undefined) continue
    const { oldestDay, newestSeconds } = changed.get(strategyId) ?? { oldestDay: Infinity, newestSeconds: 0 }
    changed.set(strategyId, {
      oldestDay: Math.min(oldestDay, dayOf(oldest.ts)),
      newestSeconds: Math.max(newestSeconds, newest.ts),
    })
  }
  return changed
}
