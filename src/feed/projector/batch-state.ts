import type { Transaction } from '../../database/database.ts'
import { knownMarks } from '../../database/write/equity.ts'
import { knownEvents, readNewestTallies } from '../../database/write/ledger.ts'
import { knownOwners } from '../../database/write/vaults/owner.ts'
import { type FiguresDay, knownStrategies, readFiguresDays } from '../../database/write/strategy.ts'
import { knownScreens } from '../../database/write/universe.ts'
import { countSmallVaults } from '../../database/write/vaults/vault-tally.ts'
import { lockVaults } from '../../database/write/vault.ts'
import type { VaultRecord } from '../../database/write/vaults/vault-record.ts'
import { reserveVaultIds } from '../../database/write/vaults/vault-id.ts'
import type { Fact, FactKind, MarkFact } from '../fact/fact.ts'
import { identity } from '../fact/identity.ts'
import type { BatchState } from './changes.ts'
import { OwnerSizes } from './owner-size.ts'

/** Reads the stored state that facts refer to, and locks their vaults. */
export async function loadBatchState(
  transaction: Transaction,
  facts: readonly Fact[],
): Promise<{ state: BatchState; figures: readonly FiguresDay[] }> {
  const [opened, owners, events] = [ofKind(facts, 'vault'), ofKind(facts, 'owner'), ofKind(facts, 'event')]
  // Pipelined, but in this order: reads after the lock see what the previous writer has committed.
  const [known, figures, smallVaults, tallies, newIds] = await Promise.all([
    loadKnownFacts(transaction, facts),
    readFiguresDays(transaction, [...new Set(opened.map(({ strategy }) => strategy))], vaultsOf(facts)),
    countSmallVaults(transaction, [...new Set([...opened, ...owners].map(({ owner }) => owner))]),
    readNewestTallies(transaction, [...new Set(events.map(({ vault }) => vault))]),
    reserveVaultIds(transaction, [...new Set(opened.map(({ vault }) => vault))]),
  ])
  return { state: { ...known, newIds, ownerSizes: new OwnerSizes(smallVaults), tallies }, figures }
}

/** Locks the vaults of facts, and reads what is stored under the identities of the facts. */
async function loadKnownFacts(
  transaction: Transaction,
  facts: readonly Fact[],
): Promise<Pick<BatchState, 'strategies' | 'vaults' | 'digests'>> {
  const screened = ofKind(facts, 'screen').map(({ ts }) => ts)
  // Pipelined, but in this order: reads after the lock see what the previous writer has committed.
  const locked = lockVaults(transaction, vaultsOf(facts))
  const [vaults, strategies, screens, marks, events, owners] = await Promise.all([
    locked,
    knownStrategies(transaction, ofKind(facts, 'strategy')),
    knownScreens(transaction, screened),
    locked.then((found) => knownMarks(transaction, marksNotNewerThan(found, ofKind(facts, 'mark')))),
    knownEvents(transaction, ofKind(facts, 'event')),
    knownOwners(transaction, ofKind(facts, 'owner')),
  ])
  const digests = new Map<string, string>()
  for (const { strategyId, ts, digest } of strategies.revisions) digests.set(identity.strategy(strategyId, ts), digest)
  for (const { ts, digest } of screens) digests.set(identity.screen(ts), digest)
  for (const { address, digest } of vaults) digests.set(identity.vault(address), digest)
  for (const { vault, ts, digest } of marks) digests.set(identity.mark(vault, ts), digest)
  for (const { vault, ts, digest } of owners) digests.set(identity.owner(vault, ts), digest)
  for (const { vault, txHash, logIndex, digest } of events) digests.set(identity.event(vault, txHash, logIndex), digest)
  return { strategies: strategies.ids, vaults: new Map(vaults.map((vault) => [vault.address, vault])), digests }
}

function ofKind<Kind extends FactKind>(facts: readonly Fact[], kind: Kind): Extract<Fact, { kind: Kind }>[] {
  return facts.filter((fact): fact is Extract<Fact, { kind: Kind }> => fact.kind === kind)
}

/** Returns the addresses of the vaults that facts are about, in ascending order: the order of their locks. */
function vaultsOf(facts: readonly Fact[]): string[] {
  return [...new Set(facts.flatMap((fact) => ('vault' in fact ? [fact.vault] : [])))].sort()
}

/** Returns the marks that may be known: a known mark has an equity point, and no point is newer than `equityAt`. */
function marksNotNewerThan(vaults: readonly VaultRecord[], marks: readonly MarkFact[]): readonly MarkFact[] {
  const newest = new Map(vaults.map(({ address, equityAt }) => [address as string, equityAt ?? -1]))
  return marks.filter(({ vault, ts }) => ts <= (newest.get(vault) ?? -1))
}
