import { readCatalogue, readStrategies, readStrategyPairs } from '../../database/read/strategy.ts'
import { searchable } from './arguments.ts'
import { builder } from './builder.ts'
import { groupRowsByKey, createLoader, createWholeLoader } from '../execution/data-loaders.ts'
import { NodeInterface } from './node/node-interface.ts'

export const loadStrategy = createLoader('strategies', async (reader, ids: readonly string[]) => {
  const strategies = await readStrategies(reader, ids)
  return new Map(strategies.map((strategy) => [strategy.id, strategy]))
})

const loadPairs = createLoader('strategy pairs', async (reader, ids: readonly string[]) =>
  groupRowsByKey(ids, await readStrategyPairs(reader, ids), (pair) => pair.strategyId),
)

const loadCatalogue = createWholeLoader((reader) => readCatalogue(reader))

const StrategyPair = builder.prismaObject('StrategyPair', {
  description: 'A pair that a strategy would plant into at this moment.',
  fields: (t) => ({
    a: t.exposeString('a', { description: 'Symbol of the base asset.' }),
    b: t.exposeString('b', { description: 'Symbol of the quote asset.' }),
    venues: t.exposeStringList('venues', { description: 'Where its eligible pools are.' }),
  }),
})

const StrategyType = builder.prismaObject('Strategy', {
  description: 'A strategy of the catalogue.',
  interfaces: [NodeInterface],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Identifier of the strategy, unique over all types.' }),
    name: t.exposeString('name', { description: 'Display name.' }),
    tagline: t.exposeString('tagline', { description: 'Description in a line.' }),
    description: t.exposeString('description', { description: 'Description of the strategy.' }),
    pairs: t.field({
      type: [StrategyPair],
      description: "Its live pairs, in the screen's order: they change when the screen re-ranks.",
      resolve: async (strategy, _, context) => (await loadPairs(context, strategy.id, null)) ?? [],
    }),
    liveApr: t.exposeFloat('liveApr', {
      nullable: true,
      description:
        'Realised return over the 30 newest complete days, as an annualised fraction (0.12 is 12 %); null until all 30 have a return, and where it is beyond the range of a double.',
    }),
    sigma: t.exposeFloat('sigma', {
      nullable: true,
      description:
        'Realised volatility over the same days, as an annualised fraction; null with liveApr, and where a day lost everything.',
    }),
  }),
})

builder.prismaObjectField('Vault', 'strategy', (t) =>
  t.field({
    type: StrategyType,
    description: 'The strategy it runs, as the catalogue has it now, also of a vault at a moment in the past.',
    resolve: async (vault, _, context) => {
      const strategy = await loadStrategy(context, vault.strategyId, null)
      if (strategy === undefined) throw new Error(`vault ${vault.address} runs ${vault.strategyId}, which is not there`)
      return strategy
    },
  }),
)

builder.queryFields((t) => ({
  strategies: t.field({
    type: [StrategyType],
    description: 'The catalogue of strategies, in the order of their first publication.',
    resolve: (_, __, context) => loadCatalogue(context, null),
  }),
  strategy: t.field({
    type: StrategyType,
    nullable: true,
    description: 'The strategy with an id; null where none is known.',
    args: { id: t.arg.id({ required: true, description: 'Identifier of the strategy.' }) },
    resolve: (_, { id }, context) => loadStrategy(context, searchable('id', id), null),
  }),
}))
