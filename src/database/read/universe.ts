import type { AssetCategory } from '../../domain/universe.ts'
import type { Read, Reader } from '../database.ts'
import { dataVersion } from './commit-log.ts'
import { rowCodec } from './row-codec.ts'
import type { AssetRow, PairRow } from './rows.ts'

const packedAssets = rowCodec<AssetRow>(
  (c) => ({
    symbol: c.words('symbol'),
    name: c.words('name'),
    category: c.plain('category') as AssetCategory,
    venues: c.list('venues'),
    liquidityUsd: c.plain('liquidity_usd'),
  }),
  'ordinal',
)

const assets: Read = {
  name: 'universe_assets',
  from: 'universe',
  sharedBy: null,
  text: `${packedAssets.select} from universe_asset
    where ($1::text is null or category = $1::text::asset_category) and ($2::text is null or $2::text = any(venues))`,
  unpack: packedAssets.unpack,
}

const packedPairs = rowCodec<PairRow>(
  (c) => ({
    a: c.words('a'),
    b: c.words('b'),
    venues: c.list('venues'),
    tvlUsd: c.plain('tvl_usd'),
    emissions: c.flag('emissions'),
  }),
  'ordinal',
)

const pairs: Read = {
  name: 'universe_pairs',
  from: 'universe',
  sharedBy: null,
  text: `${packedPairs.select} from universe_pair
    where ($1::text is null or $1::text in (a, b)) and ($2::text is null or $2::text = any(venues))`,
  unpack: packedPairs.unpack,
}

const screenedAt: Read = {
  name: 'screened_at',
  from: 'universe',
  sharedBy: null,
  text: `select max(ts)::float8 as ts, ${dataVersion} from screen`,
}

export interface AssetFilter {
  readonly category: AssetCategory | null
  readonly venue: string | null
}

export interface PairFilter {
  readonly asset: string | null
  readonly venue: string | null
}

/** The eligible assets, in the screen's order. */
export function readAssets(database: Reader, { category, venue }: AssetFilter): Promise<AssetRow[]> {
  return database.query(assets, [category, venue])
}

/** The eligible pools, in the screen's order. */
export function readPairs(database: Reader, { asset, venue }: PairFilter): Promise<PairRow[]> {
  return database.query(pairs, [asset, venue])
}

/** Time of the newest screen; null before the first. */
export async function readScreenedAt(database: Reader): Promise<number | null> {
  const [row] = await database.query<{ ts: number | null }>(screenedAt, [])
  return row?.ts ?? null
}
