import type { Database, Transaction } from '../database/database.ts'
import { announceChanges, changedSources } from '../database/changes.ts'
import { isConflict } from '../database/conflict.ts'
import { saveBuckets } from '../database/write/bucket.ts'
import { knownMarks, saveDays, savePoints } from '../database/write/equity.ts'
import { type FeedPosition, saveFeedPosition } from '../database/write/feed.ts'
import { knownEvents, saveEvents } from '../database/write/ledger.ts'
import { replacePositions } from '../database/write/position.ts'
import {
  type ChangedDays,
  type Figures,
  knownStrategies,
  lockStrategies,
  readFigures,
  refreshFigures,
  saveStrategies,
} from '../database/write/strategy.ts'
import { knownScreens, saveScreens } from '../database/write/universe.ts'
import { lockVaults, replaceHoldings, saveVaults, type VaultRecord } from '../database/write/vault.ts'
import type { Source } from '../database/watcher.ts'
import { DomainError } from '../domain/errors.ts'
import { dayOf } from '../domain/returns.ts'
import { digestOf } from './digest.ts'
import type { Flaw } from './errors.ts'
import type { EventFact, Fact, FactKind } from './fact.ts'
import { identity } from './identity.ts'
import { type Known, Projection } from './projection.ts'

/** A checked fact, or what is wrong with it, and how far its feed is with it. */
export type Candidate = { readonly position: FeedPosition } & (
  { readonly fact: Fact } | { readonly flaw: Flaw; readonly kind: FactKind | null }
)

/** What became of a line. */
export type Fate =
  | { readonly fate: 'applied' | 'skipped'; readonly kind: FactKind }
  | { readonly fate: 'rejected'; readonly kind: FactKind | null; readonly flaw: Flaw }

export interface BatchOptions {
  /** Goes on past a bad fact; without it the batch ends before the first one. */
  readonly skipBad: boolean
  /** Is told what became of the lines while nothing of it is final yet. */
  readonly beforeCommit?: (fates: readonly Fate[]) => Promise<void>
}

const mostAttempts = 5

/**
 * Applies a batch of facts and the feed's position in one transaction.
 * @returns the fate of each candidate taken, in order; where the batch stopped, the last is the bad one's
 */
export async function applyBatch(
  database: Database,
  feed: string,
  batch: readonly Candidate[],
  options: BatchOptions,
): Promise<readonly Fate[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.transaction((transaction) => applyOnce(transaction, feed, batch, options))
    } catch (error) {
      // Another writer opened the same vault or turned the same day at once: what it wrote is known on the next try.
      if (attempt === mostAttempts || !isConflict(error)) throw error
    }
  }
}

async function applyOnce(
  transaction: Transaction,
  feed: string,
  batch: readonly Candidate[],
  { skipBad, beforeCommit }: BatchOptions,
): Promise<readonly Fate[]> {
  const facts = batch.flatMap((candidate) => ('fact' in candidate ? [candidate.fact] : []))
  const { known, figures } = await load(transaction, facts)
  const projection = new Projection(known)
  const fates: Fate[] = []
  let position: FeedPosition | undefined
  for (const candidate of batch) {
    const fate = fateOf(projection, candidate)
    fates.push(fate)
    if (fate.fate === 'rejected' && !skipBad) break
    position = candidate.position
  }
  announceChanges(transaction, await save(transaction, projection, figures))
  if (position !== undefined) saveFeedPosition(transaction, feed, position)
  await beforeCommit?.(fates)
  return fates
}

function fateOf(projection: Projection, candidate: Candidate): Fate {
  if ('flaw' in candidate) return { fate: 'rejected', kind: candidate.kind, flaw: candidate.flaw }
  const { fact } = candidate
  try {
    return { fate: projection.apply(fact, digestOf(fact)) ? 'applied' : 'skipped', kind: fact.kind }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return { fate: 'rejected', kind: fact.kind, flaw: { key: error.key, reason: error.message } }
  }
}

/** Reads what these facts are about, and keeps other writers off those vaults. */
async function load(
  transaction: Transaction,
  facts: readonly Fact[],
): Promise<{ known: Known; figures: readonly Figures[] }> {
  const ofKind = <Kind extends FactKind>(kind: Kind) =>
    facts.filter((fact): fact is Extract<Fact, { kind: Kind }> => fact.kind === kind)
  const [opened, marks, screened, published] = [ofKind('vault'), ofKind('mark'), ofKind('screen'), ofKind('strategy')]
  const events: EventFact[] = ofKind('event')
  const addresses = [...new Set([...opened, ...marks, ...events].map(({ vault }) => vault))].sort()
  // In one go, but one after the other: what is read after the vaults are locked is as the writer before has left it.
  const [vaults, strategies, screens, knownOfMarks, knownOfEvents, figures] = await Promise.all([
    lockVaults(transaction, addresses),
    knownStrategies(transaction, [...new Set(published.map(({ id }) => id))]),
    knownScreens(
      transaction,
      screened.map(({ ts }) => ts),
    ),
    knownMarks(transaction, marks),
    knownEvents(transaction, events),
    readFigures(transaction, [...new Set(opened.map(({ strategy }) => strategy))], addresses),
  ])
  const digests = new Map<string, string>()
  for (const { strategyId, ts, digest } of strategies.revisions) digests.set(identity.strategy(strategyId, ts), digest)
  for (const { ts, digest } of screens) digests.set(identity.screen(ts), digest)
  for (const { address, digest } of vaults) digests.set(identity.vault(address), digest)
  for (const { vault, ts, digest } of knownOfMarks) digests.set(identity.mark(vault, ts), digest)
  for (const { vault, txHash, logIndex, digest } of knownOfEvents) {
    digests.set(identity.event(vault, txHash, logIndex), digest)
  }
  const known = { strategies: strategies.ids, vaults: new Map(vaults.map((vault) => [vault.address, vault])), digests }
  return { known, figures }
}

/** @returns what it changed */
async function save(
  transaction: Transaction,
  { known, changes }: Projection,
  figures: readonly Figures[],
): Promise<Source[]> {
  const touched = [...changes.touched].map((address) => known.vaults.get(address) as VaultRecord)
  saveStrategies(transaction, changes.strategies)
  await saveScreens(transaction, changes.screens)
  const stale = await lockStrategies(transaction, figures, changedDays(known, changes))
  saveVaults(
    transaction,
    touched.filter(({ address }) => changes.opened.has(address)),
    touched.filter(({ address }) => !changes.opened.has(address)),
  )
  replaceHoldings(
    transaction,
    touched.filter(({ address }) => changes.moved.has(address)),
  )
  savePoints(transaction, [...changes.points.values()])
  saveBuckets(
    transaction,
    Array.from(changes.pointsBefore, ([vault, pointsBefore]) => {
      return { vault, pointsBefore, points: known.vaults.get(vault)?.pointCount ?? pointsBefore }
    }),
  )
  saveDays(transaction, [...changes.days.values()])
  saveEvents(transaction, changes.events)
  replacePositions(transaction, changes.positions)
  await refreshFigures(transaction, stale)
  const isScreened = changes.screens.length > 0
  return changedSources([...changes.touched], {
    catalogue: changes.strategies.length > 0 || isScreened || stale.size > 0,
    universe: isScreened,
  })
}

/** Which days of each strategy this batch changes. */
function changedDays(known: Known, { points }: Projection['changes']): Map<string, ChangedDays> {
  const changed = new Map<string, ChangedDays>()
  for (const { vault, ts } of points.values()) {
    const strategy = known.vaults.get(vault)?.strategyId
    if (strategy === undefined) continue
    const { oldestDay, newestSeconds } = changed.get(strategy) ?? { oldestDay: Infinity, newestSeconds: 0 }
    changed.set(strategy, {
      oldestDay: Math.min(oldestDay, dayOf(ts)),
      newestSeconds: Math.max(newestSeconds, ts),
    })
  }
  return changed
}
