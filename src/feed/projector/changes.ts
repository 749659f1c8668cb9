import type { RecordedEvent } from '../../database/write/ledger.ts'
import type { RecordedOwner } from '../../database/write/vaults/owner.ts'
import type { RecordedPosition } from '../../database/write/position.ts'
import type { RecordedStrategy } from '../../database/write/strategy.ts'
import type { RecordedScreen } from '../../database/write/universe.ts'
import type { CountedVault } from '../../database/write/vaults/vault-tally.ts'
import type { VaultRecord } from '../../database/write/vaults/vault-record.ts'
import type { RecordedChange, RecordedLayout } from '../../database/write/vaults/history.ts'
import type { NewestTallies } from '../../domain/ledger.ts'
import { statusOf } from '../../domain/vault.ts'
import type { OwnerSizes } from './owner-size.ts'
import type { SeriesChanges } from './series.ts'

/** The state that facts are applied to: as stored at first, and current after each fact. Changed vaults are written from it. */
export interface BatchState {
  /** Ids of all strategies. */
  readonly strategies: Set<string>
  readonly vaults: Map<string, VaultRecord>
  /** Reserved ids of the vaults that the facts open and that are not stored, by address. */
  readonly newIds: ReadonlyMap<string, number>
  readonly ownerSizes: OwnerSizes
  /** Newest ledger tallies of the vaults with events in the batch, by address. */
  readonly tallies: Map<string, NewestTallies>
  /** Digests of known facts, by identity. Digests of marks in the batch are in `Changes.series`. */
  readonly digests: Map<string, string>
}

/** Changes of a batch of facts. */
export interface Changes {
  readonly strategies: RecordedStrategy[]
  readonly screens: RecordedScreen[]
  readonly opened: Set<string>
  /** Owners, by vault and time. */
  readonly owners: Map<string, RecordedOwner>
  /** Changed vaults by address. Value: how a vault was counted before the batch; null where it is new. */
  readonly changedVaults: Map<string, CountedVault | null>
  /** Vaults whose benchmark a flow has changed. */
  readonly benchmarkChanged: Set<string>
  /** Points and days by address. */
  readonly series: Map<string, SeriesChanges>
  readonly events: RecordedEvent[]
  /** Positions by vault id. */
  readonly positions: Map<number, readonly RecordedPosition[]>
  readonly layouts: RecordedLayout[]
  /** Changes of the seldom changed state of vaults, by vault and time. */
  readonly vaultChanges: Map<string, RecordedChange>
}

/** Returns no changes. */
export function noChanges(): Changes {
  return {
    strategies: [],
    screens: [],
    opened: new Set(),
    owners: new Map(),
    changedVaults: new Map(),
    benchmarkChanged: new Set(),
    series: new Map(),
    events: [],
    positions: new Map(),
    layouts: [],
    vaultChanges: new Map(),
  }
}

/** Returns the properties by which a vault is counted. */
export function countedBy({ owner, strategyId, ownerIsLarge, state }: VaultRecord): CountedVault {
  return { owner, strategyId, ownerIsLarge, status: statusOf(state) }
}

/** The key that an error names where a known identity has other contents, by kind of fact. */
export const identifyingKey = {
  strategy: 'ts',
  screen: 'ts',
  vault: 'vault',
  owner: 'ts',
  mark: 'ts',
  event: 'logIndex',
} as const
