import type { AssetCategory } from '../../domain/universe.ts'
import type {
  EquityPoint,
  LedgerRow as StoredLedgerRow,
  Position,
  Strategy,
  StrategyPair,
  UniverseAsset,
  UniversePair,
  Vault,
} from '../prisma/generated/client/client.ts'

/** Columns of a model as reads return them: amounts as exact text, times and blocks as integers. */
type Served<Model> = { readonly [Column in keyof Model]: ServedValue<Model[Column]> }
type ServedValue<Value> = Value extends bigint
  ? number
  : Value extends string | number | boolean | null | string[]
    ? Value
    : string

/** The moment in the past that a vault is served at. */
export interface VaultMoment {
  /** Unix seconds. */
  readonly at: number
  /** The newest mark then; null where there was none, and where the moment is the newest. */
  readonly mark: StoredMark | null
  /** Whether no later fact is known, so that the vault's own rows are those of the moment. */
  readonly isNewest: boolean
}

/** A mark as it is stored, which `positionsOfMark` decodes. */
export interface StoredMark {
  /** Unix seconds. */
  readonly ts: number
  /** The state of its point, in hexadecimal digits; null where a later point has been read instead. */
  readonly state: string | null
  /** The layout of its positions. */
  readonly layout: string
}

/** A row that is served with the address of its vault. */
type OfVault<Row> = Row & { readonly vaultAddress: string }

export type VaultRow = Served<
  Omit<
    Vault,
    | 'id'
    | 'openedAt'
    | 'digest'
    | 'phase'
    | 'benchmarkPaidOutUsd'
    | 'positionCount'
    | 'outOfRangeCount'
    | 'equityAt'
    | 'pointCount'
    | 'ledgerBlock'
    | 'ledgerInOrder'
    | 'feesTold'
    | 'highWaterTold'
    | 'ownerIsLarge'
    | 'historySince'
    | 'markedAt'
    | 'changedAt'
    | 'layoutDigest'
  >
> & {
  /** Null for the vault as it is now. */
  readonly moment: VaultMoment | null
}
export type PositionRow = OfVault<Served<Omit<Position, 'ordinal' | 'vaultId'>>> & {
  /** Moment in the past that it is served at, in Unix seconds; null for a position as it is now. */
  readonly at: number | null
}
export type EquityRow = OfVault<Served<Omit<EquityPoint, 'markDigest' | 'vaultId' | 'state'>>> & {
  readonly netUsd: string
  /** `netUsd` of the point before it in the same result; null for the first. */
  readonly previousNetUsd: string | null
}
export type LedgerRow = OfVault<Served<Omit<StoredLedgerRow, 'digest' | 'vaultId' | 'commitNonce'>>>
export type StrategyRow = Served<Omit<Strategy, 'publishedAt' | 'figuresDay'>>
export type StrategyPairRow = Served<Omit<StrategyPair, 'ordinal'>>
export type AssetRow = Served<Omit<UniverseAsset, 'ordinal' | 'category'>> & { readonly category: AssetCategory }
export type PairRow = Served<Omit<UniversePair, 'ordinal'>>
