import { Decimal } from '../../../domain/decimal.ts'
import { usdText } from '../../../domain/flows.ts'
import type { VaultPhase, VaultStatus } from '../../../domain/vault.ts'
import type { Read, Reader } from '../../database.ts'
import { decodePointState } from '../../history/point-state.ts'
import { dataVersion } from '../commit-log.ts'
import type { Missing, Tables } from '../../prisma/columns.ts'
import { modelCodec } from '../row-codec.ts'
import type { StoredMark, VaultRow } from '../rows.ts'
import { columnsOfVault } from '../vault.ts'
import { keyAt, namedMoments, newestUpTo } from './newest.ts'

/** The newest rows of each kind of a vault at a moment. */
interface StoredMoment {
  /** Its vault and time, as `keyAt` writes them. */
  readonly key: string
  /** The vault as it is now. */
  readonly now: VaultRow
  /** Start of its recorded history, in Unix seconds; null until a first mark starts it. */
  readonly since: number | null
  readonly openedAt: number
  readonly owner: string | null
  readonly ownerTs: number | null
  readonly rowTs: number | null
  readonly pointTs: number | null
  readonly valueUsd: string | null
  readonly capitalInUsd: string | null
  readonly capitalOutUsd: string | null
  readonly marketDeltaUsd: string | null
  readonly state: string | null
  /** Layout of the newest mark's positions. */
  readonly layout: string | null
  readonly changeTs: number | null
  readonly phase: VaultPhase | null
  readonly suspensionReason: string | null
  readonly suspendedAt: number | null
  readonly taxedUsd: string | null
  readonly contributedUsd: string | null
  readonly withdrawnUsd: string | null
  readonly highWaterUsd: string | null
}

/** A moment may be before the first row of each kind. */
type MomentRows = {
  readonly vault: Tables['vault']
  readonly owned: Missing<Tables['vault_owner']>
  readonly point: Missing<Tables['equity_point']>
  readonly layout: Missing<Tables['position_layout']>
  readonly change: Missing<Tables['vault_change']>
  readonly ledger: Missing<Tables['ledger_row']>
}

const momentCodec = modelCodec<MomentRows, StoredMoment>((c) => ({
  key: c.key,
  now: columnsOfVault(c),
  since: c.numberOrNull('vault.history_since'),
  openedAt: c.number('vault.opened_at'),
  owner: c.rawOrNull('owned.owner'),
  ownerTs: c.numberOrNull('owned.ts'),
  rowTs: c.numberOrNull('ledger.ts'),
  pointTs: c.numberOrNull('point.ts'),
  valueUsd: c.rawOrNull('point.value_usd'),
  capitalInUsd: c.rawOrNull('point.capital_in_usd'),
  capitalOutUsd: c.rawOrNull('point.capital_out_usd'),
  marketDeltaUsd: c.rawOrNull('point.market_delta_usd'),
  state: c.rawOrNull(`encode(point.state, 'hex')`),
  layout: c.textOrNull('layout.positions'),
  changeTs: c.numberOrNull('change.ts'),
  phase: c.rawOrNull('change.phase'),
  suspensionReason: c.textOrNull('change.suspension_reason'),
  suspendedAt: c.numberOrNull('change.suspended_at'),
  taxedUsd: c.rawOrNull('change.fees_taxed_usd'),
  contributedUsd: c.rawOrNull('change.fees_contributed_usd'),
  withdrawnUsd: c.rawOrNull('change.fees_withdrawn_usd'),
  highWaterUsd: c.rawOrNull('change.fees_high_water_usd'),
}))

const vaultsAt: Read = {
  name: 'vaults_at',
  dependsOn: 'named vaults',
  batching: { kind: 'keyed', keyProperty: 'key' },
  text: `select list.key, found.encoded, ${dataVersion} from ${namedMoments}
    cross join lateral (select ${momentCodec.aggregate} as encoded
      from (select * from vault where address = list.vault offset 0) vault
        left join lateral ${newestUpTo('vault_owner')} owned on true
        left join lateral ${newestUpTo('equity_point')} point on true
        left join lateral ${newestUpTo('position_layout', 'positions')} layout on true
        left join lateral ${newestUpTo('vault_change')} change on true
        left join lateral ${newestUpTo('ledger_row', 'ts')} ledger on true
      where opened_at <= list.at) found`,
  decode: momentCodec.decode,
}

/** Result for a time before the recorded history of a vault. */
export interface NotKept {
  /** Start of the recorded history, in Unix seconds. */
  readonly historySince: number
}

/**
 * Reads the state of vaults at the end of a second, by address; those that did not exist then are left out.
 * @param at Unix seconds; a time after a vault's newest fact returns its newest state
 */
export async function readVaultsAt(
  reader: Reader,
  addresses: readonly string[],
  at: number,
): Promise<Map<string, VaultRow | NotKept>> {
  const keys = addresses.map((address) => keyAt(address, at))
  const found = new Map((await reader.query<StoredMoment>(vaultsAt, [keys])).map((stored) => [stored.key, stored]))
  return new Map(
    addresses.flatMap((address, index) => {
      const stored = found.get(keys[index] ?? '')
      return stored === undefined ? [] : [[address, stateAt(stored, at)]]
    }),
  )
}

function stateAt(stored: StoredMoment, at: number): VaultRow | NotKept {
  const { now, since } = stored
  if (at >= now.updatedAt) return { ...now, moment: { at, mark: null, isNewest: true } }
  if (since === null || at < since) return { historySince: since ?? now.updatedAt }
  const point = stored.state === null ? null : decodePointState(stored.state, stored.pointTs ?? 0)
  // A change in the second of a point holds the state at the end of that second.
  const isPhaseOfChange = (stored.changeTs ?? -1) >= (stored.pointTs ?? -1)
  const phase = isPhaseOfChange ? stored.phase : (point?.phase ?? null)
  const isSuspended = stored.suspensionReason !== null
  const status: VaultStatus = isSuspended ? 'suspended' : (phase ?? point?.calmStatus ?? 'idle')
  const capitalInUsd = stored.capitalInUsd ?? none
  const capitalOutUsd = stored.capitalOutUsd ?? none
  const valueUsd = stored.valueUsd ?? none
  const marketDeltaUsd = stored.marketDeltaUsd ?? none
  const netUsd = new Decimal(valueUsd).plus(capitalOutUsd).minus(capitalInUsd)
  return {
    address: now.address,
    chainId: now.chainId,
    owner: stored.owner ?? now.owner,
    strategyId: now.strategyId,
    status,
    valueUsd,
    capitalInUsd,
    capitalOutUsd,
    netUsd: usdText(netUsd),
    strategyDeltaUsd: usdText(netUsd.minus(marketDeltaUsd)),
    marketDeltaUsd,
    feesContributedUsd: stored.contributedUsd ?? capitalInUsd,
    feesWithdrawnUsd: stored.withdrawnUsd ?? capitalOutUsd,
    feesTaxedUsd: stored.taxedUsd ?? none,
    feesHighWaterUsd: stored.highWaterUsd ?? usdText(point === null ? new Decimal(0) : netUsd.plus(point.aboveUsd)),
    suspensionReason: stored.suspensionReason,
    suspendedAt: stored.suspendedAt,
    updatedAt: Math.max(stored.openedAt, stored.ownerTs ?? 0, stored.rowTs ?? 0, stored.pointTs ?? 0),
    moment: { at, mark: newestMark(stored, point?.markedAt ?? null), isNewest: false },
  }
}

const none = '0.000000'

function newestMark({ pointTs, state, layout }: StoredMoment, markedAt: number | null): StoredMark | null {
  if (markedAt === null || layout === null) return null
  // A flow after the mark has a separate point, without positions.
  return { ts: markedAt, state: markedAt === pointTs ? state : null, layout }
}

const historyStarts: Read = {
  name: 'history_since',
  dependsOn: 'named vaults',
  batching: { kind: 'keyed', keyProperty: 'vault' },
  text: `select address as vault, coalesce(history_since, updated_at)::float8 as "since", ${dataVersion}
    from vault where address = any($1::text[])`,
}

/** Reads the start of the recorded history of vaults, in Unix seconds. */
export function readHistoryStarts(
  reader: Reader,
  addresses: readonly string[],
): Promise<{ vault: string; since: number }[]> {
  return reader.query(historyStarts, [addresses])
}
