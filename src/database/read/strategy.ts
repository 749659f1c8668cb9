import type { Read, Reader } from '../database.ts'
import type { StrategyPairRow, StrategyRow } from './rows.ts'

const columns = 'id, ordinal, name, tagline, description, live_apr as "liveApr", sigma'

const catalogue: Read = {
  name: 'strategies',
  from: 'catalogue',
  sharedBy: null,
  text: `select ${columns} from strategy order by ordinal`,
}

const strategiesById: Read = {
  name: 'strategies_by_id',
  from: 'catalogue',
  sharedBy: 'id',
  text: `select ${columns} from strategy where id = any($1::text[])`,
}

const pairsByStrategy: Read = {
  name: 'pairs_by_strategy',
  from: 'catalogue',
  sharedBy: 'strategyId',
  text: `select strategy_id as "strategyId", a, b, venues from strategy_pair
    where strategy_id = any($1::text[]) order by strategy_id, ordinal`,
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
