import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import { getDatamodel } from '../../database/prisma/generated/pothos.ts'
import type StoredTypes from '../../database/prisma/generated/pothos.ts'
import type {
  AssetRow,
  EquityRow,
  LedgerRow,
  PairRow,
  PositionRow,
  StrategyPairRow,
  StrategyRow,
  VaultRow,
} from '../../database/read/rows.ts'
import type { ResolverContext } from '../execution/context.ts'

/** Row types of the models: the loaders return these, not Prisma's types. */
interface Rows {
  Vault: VaultRow
  Position: PositionRow
  EquityPoint: EquityRow
  LedgerRow: LedgerRow
  Strategy: StrategyRow
  StrategyPair: StrategyPairRow
  UniverseAsset: AssetRow
  UniversePair: PairRow
}

type ServedTypes = {
  [Model in keyof StoredTypes]: Model extends keyof Rows
    ? Omit<StoredTypes[Model], 'Shape'> & { Shape: Rows[Model] }
    : StoredTypes[Model]
}

type Scalars = {
  ID: { Input: string; Output: string }
  Address: { Input: string; Output: string }
  TxHash: { Input: never; Output: string }
  UnixTime: { Input: number; Output: number }
  BlockNumber: { Input: never; Output: number }
  Usd: { Input: string; Output: string }
  Price: { Input: never; Output: string }
}

export const builder = new SchemaBuilder<{
  Context: ResolverContext
  PrismaTypes: ServedTypes
  Scalars: Scalars
  DefaultFieldNullability: false
}>({
  defaultFieldNullability: false,
  plugins: [PrismaPlugin],
  // Every row comes from a loader: the plugin only maps types to models, and never sends queries.
  prisma: { client: {} as never, dmmf: getDatamodel() },
})

builder.queryType({
  description:
    'The read model of capital vaults: their state, history and ledger, the strategies they run, and the universe they choose from.',
})
