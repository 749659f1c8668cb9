import { readAssets, readPairs, readScreenedAt } from '../../database/read/universe.ts'
import { searchable } from './arguments.ts'
import { builder } from './builder.ts'
import { createWholeLoader } from '../execution/data-loaders.ts'

const loadAssets = createWholeLoader(readAssets)
const loadPairs = createWholeLoader(readPairs)
const loadScreenedAt = createWholeLoader((reader) => readScreenedAt(reader))

const AssetCategory = builder.enumType('AssetCategory', {
  description: 'Kind of the asset.',
  values: {
    MAJOR: { value: 'major', description: 'A large, long-established asset.' },
    STABLE: { value: 'stable', description: 'A token that follows a currency.' },
    STOCK_TOKEN: { value: 'stock token', description: 'A token that follows a stock.' },
    MEME: { value: 'meme', description: 'A meme token.' },
  } as const,
})

const UniverseAsset = builder.prismaObject('UniverseAsset', {
  description: 'An asset that is eligible for build-your-own strategies now.',
  fields: (t) => ({
    symbol: t.exposeString('symbol', { description: 'Symbol of the asset.' }),
    name: t.exposeString('name', { description: 'Display name.' }),
    category: t.expose('category', { type: AssetCategory, description: 'Kind of the asset.' }),
    venues: t.exposeStringList('venues', { description: 'Where it is traded.' }),
    liquidityUsd: t.expose('liquidityUsd', { type: 'Usd', description: 'Its liquidity depth, in USD.' }),
  }),
})

const UniversePair = builder.prismaObject('UniversePair', {
  description: 'A pool that is eligible for build-your-own strategies now.',
  fields: (t) => ({
    a: t.exposeString('a', { description: 'Symbol of the base asset.' }),
    b: t.exposeString('b', { description: 'Symbol of the quote asset.' }),
    venues: t.exposeStringList('venues', { description: 'Where the pair is traded.' }),
    tvlUsd: t.expose('tvlUsd', { type: 'Usd', description: 'Total value locked, in USD.' }),
    emissions: t.exposeBoolean('emissions', { description: 'Whether it pays emissions beside fees.' }),
  }),
})

const Universe = builder.objectRef<object>('Universe').implement({
  description: "The assets and pairs that pass the eligibility screen now, in the screen's order.",
  fields: (t) => ({
    assets: t.field({
      type: [UniverseAsset],
      description: 'The eligible assets.',
      args: {
        category: t.arg({ type: AssetCategory, description: 'Only assets of this kind.' }),
        venue: t.arg.string({ description: 'Only assets traded at this venue.' }),
      },
      resolve: (_, { category, venue }, context) =>
        loadAssets(context, { category: category ?? null, venue: searched('venue', venue) }),
    }),
    pairs: t.field({
      type: [UniversePair],
      description: 'The eligible pools.',
      args: {
        asset: t.arg.string({ description: 'Only pairs with this asset on either side, by symbol.' }),
        venue: t.arg.string({ description: 'Only pairs traded at this venue.' }),
      },
      resolve: (_, { asset, venue }, context) =>
        loadPairs(context, { asset: searched('asset', asset), venue: searched('venue', venue) }),
    }),
    screenedAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'Time of the newest screen, in Unix seconds; null before the first.',
      resolve: (_, __, context) => loadScreenedAt(context, null),
    }),
  }),
})

builder.queryField('universe', (t) =>
  t.field({
    type: Universe,
    description: 'The assets and pairs that pass the eligibility screen now.',
    resolve: () => ({}),
  }),
)

function searched(argument: string, text: string | null | undefined): string | null {
  return text == null ? null : searchable(argument, text)
}
