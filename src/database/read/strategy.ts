import type { Read, Reader } from '../database.ts'
import type { Tables } from '../prisma/columns.ts'
import { modelCodec } from './row-codec.ts'
import type { StrategyPairRow, StrategyRow } from './rows.ts'

const strategyCodec = modelCodec<{ '': Tables['strategy'] }, StrategyRow>(
  (c) => ({
    id: c.text('id'),
    ordinal: c.number('ordinal'),
    name: c.text('name'),
    tagline: c.text('tagline'),
    description: c.text('description'),
    liveApr: c.numberOrNull('live_apr'),
    sigma: c.numberOrNull('sigma'),
  }),
  'ordinal',
)

const catalogue: Read = {
  name: 'strategies',
  dependsOn: 'catalogue',
  batching: { kind: 'deduplicated' },
  text: `${strategyCodec.select} from strategy`,
  decode: strategyCodec.decode,
}

const strategiesById: Read = {
  name: 'strategies_by_id',
  dependsOn: 'catalogue',
  batching: { kind: 'keyed', keyProperty: 'id' },
  text: `${strategyCodec.select} from strategy where id = any($1::text[])`,
  decode: strategyCodec.decode,
}

const pairCodec = modelCodec<{ '': Tables['strategy_pair'] }, StrategyPairRow>(
  (c) => ({
    strategyId: c.text('strategy_id'),
    a: c.text('a'),
    b: c.text('b'),
    venues: c.textList('venues'),
  }),
  'ordinal',
)

const pairsByStrategy: Read = {
  name: 'pairs_by_strategy',
  dependsOn: 'catalogue',
  batching: { kind: 'keyed', keyProperty: 'strategyId' },
  text: `${pairCodec.select} from strategy_pair where strategy_id = any($1::text[])`,
  decode: pairCodec.decode,
}

/** Reads all strategies, in the order of their first publication. */
export function readCatalogue(reader: Reader): Promise<StrategyRow[]> {
  return reader.query(catalogue, [])
}

/** Reads strategies by id, in undefined order; unknown ids are omitted. */
export function readStrategies(reader: Reader, ids: readonly string[]): Promise<StrategyRow[]> {
  return reader.query(strategiesById, [ids])
}

/** Reads the live pairs of strategies, in the screen's order for each strategy. */
export function readStrategyPairs(reader: Reader, ids: readonly string[]): Promise<StrategyPairRow[]> {
  return reader.query(pairsByStrategy, [ids])
}
