import type { Transaction } from '../../database/database.ts'
import { knownMarks } from '../../database/write/equity.ts'
import { knownEvents, readNewestTallies } from '../../database/write/ledger.ts'
import { knownOwners } from '../../database/write/vaults/owner.ts'
import { type FiguresState, knownStrategies, readFigures } from '../../database/write/strategy.ts'
import { knownScreens } from '../../database/write/universe.ts'
import { countSmallVaults } from '../../database/write/vaults/vault-tally.ts'
import { lockVaults, type VaultRecord } from '../../database/write/vault.ts'
import { reserveVaultIds } from '../../database/write/vaults/vault-id.ts'
import { digestOf } from '../fact/digest.ts'
import type { EventFact, Fact, FactKind, MarkFact } from '../fact/fact.ts'
import { identity, identityOf } from '../fact/identity.ts'
import type { BatchState } from './changes.ts'
import { OwnerSizes } from './owner-size.ts'

/** Reads the stored state that facts refer to, and locks their vaults. */
export async function loadBatchState(
  transaction: Transaction,
  facts: readonly Fact[],
): Promise<{ state: BatchState; figures: readonly FiguresState[] }> {
  const ofKind = <Kind extends FactKind>(kind: Kind) =>
    facts.filter((fact): fact is Extract<Fact, { kind: Kind }> => fact.kind === kind)
  const [opened, marks, screened, published] = [ofKind('vault'), ofKind('mark'), ofKind('screen'), ofKind('strategy')]
  const owners = ofKind('owner')
  const events: EventFact[] = ofKind('event')
  const addresses = [...new Set([...opened, ...owners, ...marks, ...events].map(({ vault }) => vault))].sort()
  // Pipelined, but in this order: reads after the lock see what the previous writer has committed.
  const locked = lockVaults(transaction, addresses)
  const [
    vaults,
    strategies,
    screens,
    knownOfMarks,
    knownOfEvents,
    knownOfOwners,
    figures,
    smallVaults,
    tallies,
    newIds,
  ] = await Promise.all([
    locked,
    knownStrategies(transaction, published),
    knownScreens(
      transaction,
      screened.map(({ ts }) => ts),
    ),
    locked.then((found) => knownMarks(transaction, marksNotNewerThan(found, marks))),
    knownEvents(transaction, events),
    knownOwners(transaction, owners),
    readFigures(transaction, [...new Set(opened.map(({ strategy }) => strategy))], addresses),
    countSmallVaults(transaction, [...new Set([...opened, ...owners].map(({ owner }) => owner))]),
    readNewestTallies(transaction, [...new Set(events.map(({ vault }) => vault))]),
    reserveVaultIds(transaction, [...new Set(opened.map(({ vault }) => vault))]),
  ])
  const digests = new Map<string, string>()
  for (const { strategyId, ts, digest } of strategies.revisions) digests.set(identity.strategy(strategyId, ts), digest)
  for (const { ts, digest } of screens) digests.set(identity.screen(ts), digest)
  for (const { address, digest } of vaults) digests.set(identity.vault(address), digest)
  for (const { vault, ts, digest } of knownOfMarks) digests.set(identity.mark(vault, ts), digest)
  for (const { vault, ts, digest } of knownOfOwners) digests.set(identity.owner(vault, ts), digest)
  for (const { vault, txHash, logIndex, digest } of knownOfEvents) {
    digests.set(identity.event(vault, txHash, logIndex), digest)
  }
  const byAddress = new Map(vaults.map((vault) => [vault.address, vault]))
  const ownerSizes = new OwnerSizes(smallVaults)
  const state = { strategies: strategies.ids, vaults: byAddress, newIds, ownerSizes, tallies, digests }
  return { state, figures }
}

/** Returns the marks that may be known: a known mark has an equity point, and no point is newer than `equityAt`. */
function marksNotNewerThan(vaults: readonly VaultRecord[], marks: readonly MarkFact[]): readonly MarkFact[] {
  const newest = new Map(vaults.map(({ address, equityAt }) => [address as string, equityAt ?? -1]))
  return marks.filter(({ vault, ts }) => ts <= (newest.get(vault) ?? -1))
}

/** Returns whether the read model contains all of these facts, with the chains of vaults, which digests leave out. */
export async function areKnown(transaction: Transaction, facts: readonly Fact[]): Promise<boolean> {
  const { digests, vaults } = (await loadBatchState(transaction, facts)).state
  const hasChain = (fact: Fact): boolean =>
    fact.kind !== 'vault' || fact.chainId === undefined || vaults.get(fact.vault)?.chainId === fact.chainId
  return facts.every((fact) => digests.get(identityOf(fact)) === digestOf(fact) && hasChain(fact))
}
