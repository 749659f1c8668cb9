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

export type VaultRow = Served<
  Omit<
    Vault,
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
  >
>
export type PositionRow = Served<Omit<Position, 'ordinal'>>
export type EquityRow = Served<Omit<EquityPoint, 'markDigest'>>
export type LedgerRow = Served<Omit<StoredLedgerRow, 'digest' | 'commitNonce'>>
export type StrategyRow = Served<Omit<Strategy, 'publishedAt' | 'figuresDay'>>
export type StrategyPairRow = Served<Omit<StrategyPair, 'ordinal'>>
export type AssetRow = Served<Omit<UniverseAsset, 'ordinal' | 'category'>> & { readonly category: AssetCategory }
export type PairRow = Served<Omit<UniversePair, 'ordinal'>>
