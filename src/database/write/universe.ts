import type { Decimal } from '../../domain/decimal.ts'
import { usdText } from '../../domain/flows.ts'
import type { AssetCategory } from '../../domain/universe.ts'
import type { Statement, Transaction } from '../database.ts'
import { bytesOrNull, insertSet } from './sets.ts'

interface PairOfVenues {
  readonly a: string
  readonly b: string
  readonly venues: readonly string[]
}

/** A screen fact as it is stored; its lists are in the screen's order. */
export interface RecordedScreen {
  readonly ts: number
  readonly digest: string
  readonly assets: readonly {
    readonly symbol: string
    readonly name: string
    readonly category: AssetCategory
    readonly venues: readonly string[]
    readonly liquidityUsd: Decimal
  }[]
  readonly pairs: readonly (PairOfVenues & { readonly tvlUsd: Decimal; readonly emissions: boolean })[]
  readonly strategies: Readonly<Record<string, readonly PairOfVenues[]>>
}

const insertAssets = insertSet('universe_asset', {
  ordinal: 'integer',
  symbol: 'text',
  name: 'text',
  category: 'asset_category',
  venues: 'text[]',
  liquidity_usd: 'numeric',
})
const insertPairs = insertSet('universe_pair', {
  ordinal: 'integer',
  a: 'text',
  b: 'text',
  venues: 'text[]',
  tvl_usd: 'numeric',
  emissions: 'boolean',
})
const insertStrategyPairs = insertSet('strategy_pair', {
  strategy_id: 'text',
  ordinal: 'integer',
  a: 'text',
  b: 'text',
  venues: 'text[]',
})
const insertScreens = insertSet('screen', { ts: 'bigint', digest: 'bytea' })

const screensAmong: Statement = {
  name: 'known_screens',
  text: `select ts::float8 as ts, encode(digest, 'hex') as digest from screen where ts = any($1::bigint[])`,
}
// Serializes the writers of the universe, because several feeds may write it: missing rows cannot be locked.
const lockScreens: Statement = { name: 'lock_screens', text: 'lock table screen in share row exclusive mode' }
const newerScreens: Statement = { name: 'newer_screens', text: 'select from screen where ts > $1::bigint limit 1' }
const emptyUniverse = ['universe_asset', 'universe_pair', 'strategy_pair'].map((table): Statement => ({
  name: `empty_${table}`,
  text: `delete from ${table}`,
}))

/**
 * Returns the screens of the given times that were applied already.
 * @param times in Unix seconds
 */
export async function knownScreens(
  transaction: Transaction,
  times: readonly number[],
): Promise<{ ts: number; digest: string }[]> {
  return times.length === 0 ? [] : transaction.query(screensAmong, [times])
}

/**
 * Writes screens: the newest one replaces the universe and the live pairs of all strategies, unless a newer screen was
 * applied before.
 */
export async function saveScreens(transaction: Transaction, screens: readonly RecordedScreen[]): Promise<void> {
  const [newest] = [...screens].sort((a, b) => b.ts - a.ts)
  if (newest === undefined) return
  transaction.send(lockScreens, [])
  const newer = await transaction.query(newerScreens, [newest.ts])
  insertScreens(
    transaction,
    screens.map(({ ts, digest }) => ({ ts, digest: bytesOrNull(digest) })),
  )
  if (newer.length > 0) return
  for (const statement of emptyUniverse) transaction.send(statement, [])
  insertAssets(
    transaction,
    newest.assets.map(({ liquidityUsd, ...asset }, ordinal) => ({
      ...asset,
      ordinal,
      liquidity_usd: usdText(liquidityUsd),
    })),
  )
  insertPairs(
    transaction,
    newest.pairs.map(({ tvlUsd, ...pair }, ordinal) => ({ ...pair, ordinal, tvl_usd: usdText(tvlUsd) })),
  )
  insertStrategyPairs(
    transaction,
    Object.entries(newest.strategies).flatMap(([id, pairs]) =>
      pairs.map((pair, ordinal) => ({ ...pair, ordinal, strategy_id: id })),
    ),
  )
}
