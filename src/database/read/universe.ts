import type { AssetCategory } from '../../domain/universe.ts'
import type { Read, Reader } from '../database.ts'
import { dataVersion } from './commit-log.ts'
import type { Tables } from '../prisma/columns.ts'
import { modelCodec } from './row-codec.ts'
import type { AssetRow, PairRow } from './rows.ts'

/** The database's names of categories: Prisma names those of two words differently. */
type AssetColumns = Omit<Tables['universe_asset'], 'category'> & { readonly category: AssetCategory }

const assetCodec = modelCodec<{ '': AssetColumns }, AssetRow>(
  (c) => ({
    symbol: c.text('symbol'),
    name: c.text('name'),
    category: c.raw('category'),
    venues: c.textList('venues'),
    liquidityUsd: c.raw('liquidity_usd'),
  }),
  'ordinal',
)

const assets: Read = {
  name: 'universe_assets',
  dependsOn: 'universe',
  batching: { kind: 'deduplicated' },
  text: `${assetCodec.select} from universe_asset
    where ($1::text is null or category = $1::text::asset_category) and ($2::text is null or $2::text = any(venues))`,
  decode: assetCodec.decode,
}

const pairCodec = modelCodec<{ '': Tables['universe_pair'] }, PairRow>(
  (c) => ({
    a: c.text('a'),
    b: c.text('b'),
    venues: c.textList('venues'),
    tvlUsd: c.raw('tvl_usd'),
    emissions: c.boolean('emissions'),
  }),
  'ordinal',
)

const pairs: Read = {
  name: 'universe_pairs',
  dependsOn: 'universe',
  batching: { kind: 'deduplicated' },
  text: `${pairCodec.select} from universe_pair
    where ($1::text is null or $1::text in (a, b)) and ($2::text is null or $2::text = any(venues))`,
  decode: pairCodec.decode,
}

const screenedAt: Read = {
  name: 'screened_at',
  dependsOn: 'universe',
  batching: { kind: 'deduplicated' },
  text: `select max(ts)::float8 as ts, ${dataVersion} from screen`,
}

/** Restricts eligible assets; null matches all. */
export interface AssetFilter {
  readonly category: AssetCategory | null
  readonly venue: string | null
}

/** Restricts eligible pools; null matches all. */
export interface PairFilter {
  readonly asset: string | null
  readonly venue: string | null
}

/** Reads the eligible assets, in the screen's order. */
export function readAssets(reader: Reader, { category, venue }: AssetFilter): Promise<AssetRow[]> {
  return reader.query(assets, [category, venue])
}

/** Reads the eligible pools, in the screen's order. */
export function readPairs(reader: Reader, { asset, venue }: PairFilter): Promise<PairRow[]> {
  return reader.query(pairs, [asset, venue])
}

/**
 * Reads the time of the newest screen.
 * @returns Unix seconds; null before the first screen
 */
export async function readScreenedAt(reader: Reader): Promise<number | null> {
  const [row] = await reader.query<{ ts: number | null }>(screenedAt, [])
  return row?.ts ?? null
}
