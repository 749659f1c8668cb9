import type { Read, Reader } from '../database.ts'
import { rowCodec } from './row-codec.ts'
import type { StrategyPairRow, StrategyRow } from './rows.ts'

const strategies = rowCodec<StrategyRow>(
  (c) => ({
    id: c.words('id'),
    ordinal: c.number('ordinal'),
    name: c.words('name'),
    tagline: c.words('tagline'),
    description: c.words('description'),
    liveApr: c.numberOrNull('live_apr'),
    sigma: c.numberOrNull('sigma'),
  }),
  'ordinal',
)

const catalogue: Read = {
  name: 'strategies',
  from: 'catalogue',
  sharedBy: null,
  text: `${strategies.select} from strategy`,
  unpack: strategies.unpack,
}

const strategiesById: Read = {
  name: 'strategies_by_id',
  from: 'catalogue',
  sharedBy: 'id',
  text: `${strategies.select} from strategy where id = any($1::text[])`,
  unpack: strategies.unpack,
}

const pairs = rowCodec<StrategyPairRow>(
  (c) => ({
    strategyId: c.words('strategy_id'),
    a: c.words('a'),
    b: c.words('b'),
    venues: c.list('venues'),
  }),
  'ordinal',
)

const pairsByStrategy: Read = {
  name: 'pairs_by_strategy',
  from: 'catalogue',
  sharedBy: 'strategyId',
  text: `${pairs.select} from strategy_pair where strategy_id = any($1::text[])`,
  unpack: pairs.unpack,
}

/** All strategies, in the order of their first publication. */
export function readCatalogue(database: Reader): Promise<StrategyRow[]> {
  return database.query(catalogue, [])
}

/** Strategies by id, in no order; those that aren't known are left out. */
export function readStrategies(database: Reader, ids: readonly string[]): Promise<StrategyRow[]> {
  return database.query(strategiesById, [ids])
}

/** The live pairs of strategies, each strategy's in the screen's order. */
export function readStrategyPairs(database: Reader, ids: readonly string[]): Promise<StrategyPairRow[]> {
  return database.query(pairsByStrategy, [ids])
}
