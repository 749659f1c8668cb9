import type { AssetCategory } from '../../domain/universe.ts'
import type { Read, Reader } from '../database.ts'
import type { AssetRow, PairRow } from './rows.ts'

const assets: Read = {
  name: 'universe_assets',
  from: 'universe',
  sharedBy: null,
  text: `select symbol, name, category::text as category, venues, liquidity_usd::text as "liquidityUsd" from universe_asset
    where ($1::text is null or category = $1::text::asset_category) and ($2::text is null or $2::text = any(venues))
    order by ordinal`,
}

const pairs: Read = {
  name: 'universe_pairs',
  from: 'universe',
  sharedBy: null,
  text: `select a, b, venues, tvl_usd::text as "tvlUsd", emissions from universe_pair
    where ($1::text is null or $1::text in (a, b)) and ($2::text is null or $2::text = any(venues))
    order by ordinal`,
}

const screenedAt: Read = {
  name: 'screened_at',
  from: 'universe',
  sharedBy: null,
  text: 'select max(ts)::float8 as ts from screen',
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
