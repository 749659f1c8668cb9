import type { Decimal } from '../../domain/decimal.ts'
import { usdText } from '../../domain/flows.ts'
import type { VaultDay } from '../../domain/returns.ts'
import type { Statement, Transaction } from '../database.ts'
import { encodePointState, mergedState, type PointState } from '../history/point-state.ts'
import { appendSet, bytesOrNull, insertSet, upsertSet } from './sets.ts'

/** An equity point: the vault's state after a flow or mark. */
export interface RecordedPoint extends PointState {
  readonly vaultId: number
  /** Digest of the mark at this second; null where there was none. */
  readonly markDigest: string | null
  /** Whether it may replace a stored point of its second. */
  readonly replacesStored: boolean
}

/** A vault's growth on a day, and its value at the end. */
export interface RecordedDay {
  readonly vaultId: number
  readonly day: VaultDay
  readonly endUsd: Decimal
}

const pointColumns = {
  vault_id: 'integer',
  ts: 'bigint',
  value_usd: 'numeric',
  capital_in_usd: 'numeric',
  capital_out_usd: 'numeric',
  mark_digest: 'bytea',
  market_delta_usd: 'numeric',
  state: 'bytea',
} as const

const appendPoints = appendSet('equity_point', pointColumns)
const upsertPoints = upsertSet('equity_point', pointColumns, ['vault_id', 'ts'], {
  mark_digest: 'coalesce(excluded.mark_digest, equity_point.mark_digest)',
  state: mergedState,
})

const upsertDays = insertSet(
  'vault_day',
  { vault_id: 'integer', day: 'integer', start_usd: 'numeric', end_usd: 'numeric', growth: 'numeric' },
  `on conflict (vault_id, day) do update set end_usd = excluded.end_usd, growth = excluded.growth`,
)

/** Writes equity points; the last one of a second replaces the others. */
export function savePoints(transaction: Transaction, points: readonly RecordedPoint[]): void {
  upsertPoints(transaction, points.filter(({ replacesStored }) => replacesStored).map(pointRow))
  appendPoints(transaction, points.filter(({ replacesStored }) => !replacesStored).map(pointRow))
}

function pointRow(point: RecordedPoint) {
  const { vaultId, ts, state, markDigest } = point
  return {
    vault_id: vaultId,
    ts,
    value_usd: usdText(state.valueUsd),
    capital_in_usd: usdText(state.capitalInUsd),
    capital_out_usd: usdText(state.capitalOutUsd),
    mark_digest: bytesOrNull(markDigest),
    market_delta_usd: usdText(state.marketDeltaUsd),
    state: bytesOrNull(encodePointState(point).toString('hex')),
  }
}

/** Writes the days of vaults. */
export function saveDays(transaction: Transaction, days: readonly RecordedDay[]): void {
  upsertDays(
    transaction,
    days.map(({ vaultId, day, endUsd }) => ({
      vault_id: vaultId,
      day: day.day,
      start_usd: usdText(day.startUsd),
      end_usd: usdText(endUsd),
      growth: day.growth.toFixed(),
    })),
  )
}

/** Identity of a mark: its vault and time in Unix seconds. */
export interface MarkIdentity {
  readonly vault: string
  readonly ts: number
}

const marksAmong: Statement = {
  name: 'known_marks',
  text: `select wanted.vault, ts::float8 as ts, encode(mark_digest, 'hex') as digest
    from unnest($1::text[], $2::bigint[]) as wanted(vault, at) join vault on vault.address = wanted.vault
      join equity_point on vault_id = vault.id and ts = at
    where mark_digest is not null`,
}

/** Returns the marks that were applied already, with the digests of their contents. */
export async function knownMarks(
  transaction: Transaction,
  marks: readonly MarkIdentity[],
): Promise<(MarkIdentity & { digest: string })[]> {
  if (marks.length === 0) return []
  return transaction.query(marksAmong, [marks.map(({ vault }) => vault), marks.map(({ ts }) => ts)])
}
