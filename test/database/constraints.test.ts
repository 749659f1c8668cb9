import { beforeAll, describe, expect, test } from 'vitest'
import { eventTypes } from '../../src/domain/ledger.ts'
import { vaultStatuses as statuses } from '../../src/domain/vault.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { apply, deposit, event, mark, midnight, opened, position, strategy, vaultA } from '../support/world.ts'

/** Rows that each check constraint of the migrations rejects. */
const refused: Readonly<Record<string, readonly string[]>> = {
  vault_address_form: [
    `update vault set owner = 'nobody'`,
    `update vault set owner = owner || '00'`,
    `update vault set owner = replace(owner, '0x', '0X')`,
    `insert into vault ${vaultWith({ id: '7', address: "left(address, 41) || 'g'" })}`,
  ],
  vault_amounts: [
    `update vault set value_usd = -1, net_usd = -101, strategy_delta_usd = -101`,
    `update vault set capital_in_usd = -1, net_usd = 102, strategy_delta_usd = 102`,
    `update vault set capital_out_usd = -1, net_usd = 0, strategy_delta_usd = 0`,
    ...['benchmark_paid_out', 'fees_contributed', 'fees_withdrawn', 'fees_taxed', 'fees_high_water'].map(
      (amount) => `update vault set ${amount}_usd = -0.000001`,
    ),
    `update vault set value_usd = 'NaN', net_usd = 'NaN', strategy_delta_usd = 'NaN'`,
    ...['benchmark_paid_out', 'fees_contributed', 'fees_withdrawn', 'fees_taxed', 'fees_high_water'].map(
      (amount) => `update vault set ${amount}_usd = 'NaN'`,
    ),
  ],
  vault_times: [
    `update vault set opened_at = -1`,
    `update vault set updated_at = opened_at - 1`,
    `update vault set equity_at = updated_at + 1`,
    `update vault set equity_at = opened_at - 1`,
    `update vault set suspended_at = updated_at + 1, suspension_reason = 'why', status = 'suspended'`,
  ],
  vault_owner_form: [`update vault_owner set owner = 'nobody'`, `update vault_owner set ts = -1`],
  equity_point_times: [`update equity_point set ts = -1 where ts = (select min(ts) from equity_point)`],
  ledger_row_times: [`update ledger_row set ts = -1`],
  strategy_figures: [
    `update strategy set live_apr = 'NaN'`,
    `update strategy set live_apr = 'Infinity'`,
    `update strategy set live_apr = '-Infinity'`,
    `update strategy set sigma = 'NaN'`,
    `update strategy set sigma = 'Infinity'`,
    `update strategy set sigma = -1`,
    `update strategy set sigma = 0`,
    `update strategy set sigma = 0, live_apr = -12.17`,
    `update strategy set live_apr = 0.1`,
    `update strategy set live_apr = -12.17`,
  ],
  strategy_times: [`update strategy set published_at = -1`, `update strategy set figures_day = -2`],
  strategy_place: [`update strategy set ordinal = -1 where id = 'one'`],
  strategy_day_times: [`update strategy_day set day = -2`],
  strategy_revision_times: [`update strategy_revision set ts = -1`],
  strategy_pair_place: [`update strategy_pair set ordinal = -1`],
  strategy_pair_venues: venuesOf('strategy_pair'),
  screen_times: [`update screen set ts = -1`],
  vault_net: [
    `update vault set net_usd = net_usd + 0.000001, strategy_delta_usd = strategy_delta_usd + 0.000001`,
    `update vault set value_usd = value_usd + 1`,
    `update vault set capital_in_usd = capital_in_usd + 1`,
    `update vault set capital_out_usd = capital_out_usd + 1`,
  ],
  vault_split: [
    `update vault set strategy_delta_usd = strategy_delta_usd + 0.000001`,
    `update vault set market_delta_usd = market_delta_usd + 0.000001`,
  ],
  vault_status_derived: [
    ...['idle', 'planting', 'attention', 'exiting', 'suspended'].map(
      (status) => `update vault set status = '${status}'`,
    ),
    `update vault set suspended_at = updated_at, suspension_reason = 'why'`,
    `update vault set suspended_at = updated_at, suspension_reason = 'why', phase = 'exiting', status = 'exiting'`,
    `update vault set phase = 'exiting'`,
    `update vault set phase = 'planting'`,
    `update vault set out_of_range_count = 1`,
    `update vault set position_count = 0`,
    `update vault set position_count = 0, status = 'idle'`,
    `update vault set position_count = 0, value_usd = 0, net_usd = -100, strategy_delta_usd = -100, status = 'planting'`,
  ],
  vault_exit_ends_empty: [
    `update vault set position_count = 0, value_usd = 0, net_usd = -100, strategy_delta_usd = -100, status = 'exiting',
      phase = 'exiting'`,
  ],
  vault_suspension_whole: [
    `update vault set suspension_reason = 'why'`,
    `update vault set suspended_at = updated_at, status = 'suspended'`,
  ],
  vault_position_counts: [
    `update vault set out_of_range_count = -1`,
    `update vault set out_of_range_count = position_count + 1, status = 'attention'`,
    `update vault set position_count = -1, status = 'planting'`,
  ],
  equity_point_amounts: [
    `update equity_point set value_usd = -1`,
    `update equity_point set value_usd = 'NaN'`,
    `update equity_point set capital_in_usd = -1`,
    `update equity_point set capital_out_usd = -1`,
  ],
  equity_point_history: [
    `update equity_point set market_delta_usd = null where ts = (select max(ts) from equity_point)`,
    `update equity_point set state = null`,
    `update equity_point set state = ''`,
    `update equity_point set market_delta_usd = 'NaN'`,
  ],
  vault_traced: [
    `update vault set history_since = -1`,
    `update vault set history_since = null`,
    `update vault set history_since = updated_at + 1`,
    `update vault set marked_at = equity_at + 1`,
    `update vault set marked_at = null`,
    `update vault set changed_at = updated_at + 1`,
    `update vault set layout_digest = '\\x00'`,
  ],
  position_layout_form: [`update position_layout set ts = -1`, `update position_layout set positions = 'none'`],
  vault_change_times: [
    `insert into vault_change ${changeWith('-1', 'null', 'null', '0', 'null', 'null', 'null')}`,
    `insert into vault_change ${changeWith('1', `'why'`, '2', '0', 'null', 'null', 'null')}`,
  ],
  vault_change_suspension_whole: [
    `insert into vault_change ${changeWith('1', `'why'`, 'null', '0', 'null', 'null', 'null')}`,
    `insert into vault_change ${changeWith('1', 'null', '1', '0', 'null', 'null', 'null')}`,
  ],
  vault_change_fees: [
    `insert into vault_change ${changeWith('1', 'null', 'null', '-1', 'null', 'null', 'null')}`,
    `insert into vault_change ${changeWith('1', 'null', 'null', `'NaN'`, 'null', 'null', 'null')}`,
    `insert into vault_change ${changeWith('1', 'null', 'null', '0', '1', 'null', '1')}`,
    `insert into vault_change ${changeWith('1', 'null', 'null', '0', '1', '1', 'null')}`,
    `insert into vault_change ${changeWith('1', 'null', 'null', '0', '-1', '0', '0')}`,
    `insert into vault_change ${changeWith('1', 'null', 'null', '0', '0', '-1', '0')}`,
    `insert into vault_change ${changeWith('1', 'null', 'null', '0', 'null', 'null', '-1')}`,
  ],
  equity_curve_page_place: [
    `insert into equity_curve_page select id, 1, 0, '' from vault`,
    `insert into equity_curve_page select id, 14, 0, '' from vault`,
    `insert into equity_curve_page select id, 2, -1, '' from vault`,
  ],
  vault_point_count: [
    `update vault set point_count = -1`,
    `update vault set point_count = 0`,
    `update vault set equity_at = null`,
  ],
  vault_chain_id: [`update vault set chain_id = 0`, `update vault set chain_id = -1`],
  vault_ledger: [`update vault set ledger_block = -1`, `update vault set ledger_block = null, ledger_in_order = false`],
  strategy_tally_counts: statuses.map((status) => `update strategy_tally set ${status} = -1`),
  ledger_tally_counts: [
    ...eventTypes.map((type) => `update ledger_tally set ${type} = -1`),
    `update ledger_tally set ${eventTypes.map((type) => `${type} = 0`).join(', ')}`,
  ],
  ledger_tally_times: [`update ledger_tally set ts = -1`],
  ledger_span_place: [spanWith('0, 0, 1'), spanWith('4, 0, 1'), spanWith('1, -1, 1'), spanWith('1, 0, -1')],
  ledger_span_page_place: [
    spanPageWith(`0, 0, 'all', 1, '{1}'`),
    spanPageWith(`4, 0, 'all', 1, '{1}'`),
    spanPageWith(`1, -1, 'all', 1, '{1}'`),
    spanPageWith(`1, 0, 'all', -1, '{-1}'`),
  ],
  ledger_span_page_keys: [
    spanPageWith(`1, 0, 'all', 1, '{}'`),
    spanPageWith(`1, 0, 'all', 1, null`),
    spanPageWith(`1, 0, 'all', 1, '{1,null}'`),
    spanPageWith(`1, 0, 'all', 1, '{2}'`),
    spanPageWith(`1, 0, 'all', 1, array_fill(1, array[129])`),
  ],
  owner_tally_counts: [
    ...statuses.map((status) => `update owner_tally set ${status} = -1`),
    `update owner_tally set large = -1`,
    `update owner_tally set large = 100`,
  ],
  equity_page_place: [pageWith({ level: 0 }), pageWith({ level: 14 }), pageWith({ ordinal: -1 })],
  equity_page_times: [pageWith({ first_ts: -1 }), pageWith({ first_ts: 64, last_ts: 64 })],
  equity_page_candidates: [0, 30, 32].map((breaks) => pageWith({ candidates: '\n'.repeat(breaks) })),
  vault_day_amounts: [
    `update vault_day set start_usd = -1`,
    `update vault_day set end_usd = -1`,
    `update vault_day set growth = -1`,
    `update vault_day set growth = 'NaN'`,
  ],
  vault_day_times: [`update vault_day set day = -2`],
  benchmark_holding_amounts: [
    `update benchmark_holding set quantity = -1`,
    `update benchmark_holding set quantity = 'NaN'`,
  ],
  position_amounts: [
    `update position set pending_rewards_usd = -1`,
    `update position set pending_rewards_usd = 'NaN'`,
    `update position set price_upper = 'NaN' where id = 'by prices'`,
    `update position set fee_tier = -1`,
    `update position set fee_tier = 1000001`,
    `update position set price_lower = -1 where id = 'by prices'`,
    `update position set price_lower = price_upper + 1, in_range = false where id = 'by prices'`,
    `update position set price_current = -1, in_range = false where id = 'by prices'`,
  ],
  position_place: [`update position set ordinal = -1 where id = 'by prices'`],
  position_ticks_whole: [
    `update position set tick_lower = 1 where id = 'by prices'`,
    `update position set tick_lower = null where id = 'by ticks'`,
    `update position set tick_current = null where id = 'by ticks'`,
    `update position set tick_lower = tick_upper + 1, in_range = false where id = 'by ticks'`,
  ],
  position_in_range_derived: [
    `update position set in_range = false where id = 'by prices'`,
    `update position set price_current = price_upper where id = 'by prices'`,
    `update position set price_current = price_lower - 1 where id = 'by prices'`,
    `update position set in_range = false where id = 'by ticks'`,
    `update position set tick_current = tick_upper where id = 'by ticks'`,
    `update position set tick_current = tick_lower - 1 where id = 'by ticks'`,
  ],
  ledger_row_tx_hash_form: [
    `update ledger_row set tx_hash = substr(tx_hash, 2)`,
    `update ledger_row set tx_hash = tx_hash || substr(tx_hash, 1, 1)`,
    `update ledger_row set log_index = -1`,
    `update ledger_row set block = -1`,
  ],
  ledger_row_by_type: [
    ...['deposit', 'withdraw', 'fee'].flatMap((type) => [
      `update ledger_row set type = '${type}', amount_usd = null where type = 'deposit'`,
      `update ledger_row set type = '${type}', amount_usd = -1 where type = 'deposit'`,
      `update ledger_row set type = '${type}', position_id = 'p' where type = 'deposit'`,
      `update ledger_row set type = '${type}', reason = 'why' where type = 'deposit'`,
    ]),
    ...['plant', 'exit'].flatMap((type) => [
      `update ledger_row set type = '${type}', amount_usd = 1 where type = 'plant'`,
      `update ledger_row set type = '${type}', position_id = null where type = 'plant'`,
      `update ledger_row set type = '${type}', reason = 'why' where type = 'plant'`,
    ]),
    ...['rebalance', 'harvest'].flatMap((type) => [
      `update ledger_row set type = '${type}', amount_usd = -1 where type = 'plant'`,
      `update ledger_row set type = '${type}', position_id = null where type = 'plant'`,
      `update ledger_row set type = '${type}', reason = 'why' where type = 'plant'`,
    ]),
    `update ledger_row set reason = null where type = 'suspend'`,
    `update ledger_row set amount_usd = 1 where type = 'suspend'`,
    `update ledger_row set position_id = 'p' where type = 'suspend'`,
    `update ledger_row set type = 'resume' where type = 'suspend'`,
    `update ledger_row set type = 'resume', reason = null, amount_usd = 1 where type = 'suspend'`,
  ],
  universe_asset_amounts: [`update universe_asset set liquidity_usd = -1`],
  universe_asset_place: [`update universe_asset set ordinal = -1 where symbol = 'WETH'`],
  universe_asset_venues: venuesOf('universe_asset'),
  universe_pair_amounts: [`update universe_pair set tvl_usd = -1`],
  universe_pair_place: [`update universe_pair set ordinal = -1`],
  universe_pair_venues: venuesOf('universe_pair'),
  data_head_single: [`update data_head set id = false`, `insert into data_head values (false, 1, '1.2')`],
  data_head_version: [
    `update data_head set seq = seq + 1`,
    `update data_head set version = '1'`,
    `update data_head set version = '11.2'`,
  ],
  commit_log_version: [`update commit_log set seq = seq + 1`, `update commit_log set version = 'one'`],
  commit_log_ledger_rows: [`update commit_log set ledger_rows = -1`],
  commit_log_times: [`update commit_log set at = -1`, `update commit_log set newest_ts = -1`],
  commit_log_sources: [
    `update commit_log set sources = null`,
    `update commit_log set sources = array['universe', null]`,
  ],
  feed_times: [`update feed set newest_fact_at = -1`, `update feed set read_until = -1`],
  feed_block: [
    `update feed set block_number = 1`,
    `update feed set block_hash = '0x'`,
    `update feed set block_timestamp = 1, block_number = 1`,
    `update feed set block_number = -1, block_hash = '0x', block_timestamp = 1`,
    `update feed set block_number = 1, block_hash = '0x', block_timestamp = -1`,
  ],
  feed_place: [`update feed set line = -1`, `update feed set byte = -1`],
}

/** Rows that violate a unique constraint. */
const doubled: Readonly<Record<string, string>> = {
  ledger_row_pkey: `insert into ledger_row select * from ledger_row where type = 'deposit'`,
  equity_point_pkey: `insert into equity_point select * from equity_point limit 1`,
  equity_page_pkey: `${pageWith({})}, ${pageValues({ last_ts: 65 })}`,
  equity_page_vault_id_level_last_ts_key: `${pageWith({})}, ${pageValues({ ordinal: 1 })}`,
  strategy_day_pkey: `insert into strategy_day select * from strategy_day limit 1`,
  position_layout_pkey: `insert into position_layout select * from position_layout`,
  vault_change_pkey: `insert into vault_change select * from vault_change`,
  equity_curve_page_pkey: `insert into equity_curve_page select id, 2, 0, '' from vault, generate_series(1, 2)`,
  vault_day_pkey: `insert into vault_day select * from vault_day limit 1`,
  vault_owner_pkey: `insert into vault_owner select * from vault_owner`,
  vault_pkey: `insert into vault select * from vault`,
  vault_address_key: `insert into vault ${vaultWith({ id: '7' })}`,
  vault_address_in_any_case: `insert into vault ${vaultWith({ id: '7', address: 'lower(address)' })}`,
  benchmark_holding_pkey: `insert into benchmark_holding select * from benchmark_holding`,
  position_pkey: `insert into position select * from position where id = 'by ticks'`,
  position_vault_id_ordinal_key: `update position set ordinal = 0`,
  vault_pool_pkey: `insert into vault_pool select * from vault_pool limit 1`,
  strategy_pkey: `insert into strategy select * from strategy where id = 'one'`,
  strategy_ordinal_key: `update strategy set ordinal = 1`,
  strategy_revision_pkey: `insert into strategy_revision select * from strategy_revision limit 1`,
  strategy_pair_pkey: `insert into strategy_pair select * from strategy_pair`,
  screen_pkey: `insert into screen select * from screen`,
  universe_asset_pkey: `insert into universe_asset select * from universe_asset limit 1`,
  universe_asset_symbol_key: `update universe_asset set symbol = 'WETH'`,
  universe_pair_pkey: `insert into universe_pair select * from universe_pair`,
  data_head_pkey: `insert into data_head select * from data_head`,
  commit_log_pkey: `insert into commit_log select * from commit_log`,
  strategy_tally_pkey: `insert into strategy_tally select * from strategy_tally`,
  ledger_tally_pkey: `insert into ledger_tally select * from ledger_tally`,
  ledger_span_pkey: spanWith('1, 0, 1', '1, 0, 2'),
  ledger_span_vault_id_level_last_ts_key: spanWith('1, 0, 1', '1, 1, 1'),
  ledger_span_page_pkey: spanPageWith(`1, 0, 'all', 1, '{1}'`, `1, 0, 'all', 1, '{1}'`),
  owner_tally_pkey: `insert into owner_tally select * from owner_tally`,
  feed_pkey: `insert into feed select * from feed`,
}

/** Rows that violate a foreign key. */
const missing: Readonly<Record<string, string>> = {
  vault_strategy_id_fkey: `update vault set strategy_id = 'unknown'`,
  strategy_tally_strategy_id_fkey: `update strategy_tally set strategy_id = 'unknown'`,
  ledger_tally_vault_id_fkey: `update ledger_tally set vault_id = 0`,
  ledger_span_vault_id_fkey: `insert into ledger_span (vault_id, level, ordinal, last_ts) values (0, 1, 0, 1)`,
  ledger_span_page_vault_id_fkey: `insert into ledger_span_page (vault_id, level, ordinal, list, first_key, keys)
    values (0, 1, 0, 'all', 1, '{1}')`,
  owner_tally_strategy_id_fkey: `update owner_tally set strategy_id = 'unknown'`,
  strategy_revision_strategy_id_fkey: `update strategy_revision set strategy_id = 'unknown' where strategy_id = 'one'`,
  strategy_pair_strategy_id_fkey: `update strategy_pair set strategy_id = 'unknown'`,
  benchmark_holding_vault_id_fkey: `update benchmark_holding set vault_id = 0`,
  vault_owner_vault_id_fkey: `update vault_owner set vault_id = 0`,
  vault_pool_vault_id_fkey: `update vault_pool set vault_id = 0`,
  position_vault_id_fkey: `update position set vault_id = 0`,
  equity_point_vault_id_fkey: `update equity_point set vault_id = 0`,
  equity_page_vault_id_fkey: pageWith({ vault_id: 0 }),
  strategy_day_strategy_id_fkey: `update strategy_day set strategy_id = 'unknown'`,
  position_layout_vault_id_fkey: `update position_layout set vault_id = 0`,
  vault_change_vault_id_fkey: `update vault_change set vault_id = 0`,
  equity_curve_page_vault_id_fkey: `insert into equity_curve_page values (0, 2, 0, '')`,
  vault_day_vault_id_fkey: `update vault_day set vault_id = 0`,
  ledger_row_vault_id_fkey: `update ledger_row set vault_id = 0`,
}

/** Valid rows that resemble rejected ones. */
const taken = [
  pageWith({}),
  pageWith({ level: 13, first_ts: 0 }),
  spanWith('3, 0, 0'),
  spanPageWith(`3, 0, 'all', 0, array_fill(0, array[128])`),
  `update vault set value_usd = 102, net_usd = 2, strategy_delta_usd = 2`,
  `update vault set market_delta_usd = -1, strategy_delta_usd = 2`,
  `update vault set suspended_at = updated_at, suspension_reason = 'why', status = 'suspended', phase = 'exiting'`,
  `update vault set out_of_range_count = 2, status = 'attention'`,
  `update position set price_current = price_lower where id = 'by prices'`,
  `update position set price_current = price_upper, in_range = false where id = 'by prices'`,
  `update position set price_current = price_upper where id = 'by ticks'`,
  `update position set tick_current = tick_lower where id = 'by ticks'`,
  `update benchmark_holding set quantity = 0`,
  `update strategy set live_apr = 0.1, sigma = 0`,
  `update strategy set live_apr = ${-365 / 30}, sigma = 0`,
  // A day with a total loss has no logarithm.
  `update strategy set live_apr = ${-365 / 30}`,
  // Second 0 ends a day.
  `update vault_day set day = -1 where day = (select min(day) from vault_day)`,
  `update strategy set figures_day = -1`,
  `update universe_asset set venues = '{}'`,
  `update commit_log set sources = '{}', newest_ts = null`,
  `update feed set block_number = 1, block_hash = '0x', block_timestamp = 1, newest_fact_at = 0, read_until = 0`,
  `update ledger_row set type = 'harvest', amount_usd = 1 where type = 'plant'`,
  `update ledger_row set type = 'resume', reason = null where type = 'suspend'`,
]

describe('constraints of the database', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await emptyDatabase()
    const byTicks = { ...position('by ticks'), ticks: { lower: -10, upper: 10, current: 0 } }
    const pool = { a: 'WETH', b: 'USDC', venues: ['uniswap-v3'] }
    const asset = (symbol: string) => ({
      symbol,
      name: symbol,
      category: 'major' as const,
      venues: [],
      liquidityUsd: '1',
    })
    const summary = await apply(database, [
      strategy('one'),
      strategy('two'),
      {
        kind: 'screen',
        ts: midnight,
        assets: [asset('WETH'), asset('WBTC')],
        pairs: [{ ...pool, tvlUsd: '1', emissions: false }],
        strategies: { one: [pool] },
      },
      opened(vaultA, 'one'),
      deposit(vaultA, midnight + 10, '100'),
      event(vaultA, midnight + 20, { type: 'plant', positionId: 'p' }),
      event(vaultA, midnight + 30, { type: 'suspend', reason: 'why' }),
      event(vaultA, midnight + 40, { type: 'resume' }),
      ...['99', '103', '100'].map((valueUsd, index) => mark(vaultA, midnight + 41 + index, valueUsd)),
      mark(vaultA, midnight + 50, '101', { positions: [position('by prices'), byTicks] }),
    ])
    expect(summary).toMatchObject({ skipped: {}, rejected: {} })
  })

  test.each(statementsOf(refused))('%s: %s', async (constraint, statement) => {
    expect(await refusal(database, undone(statement))).toEqual({ code: '23514', constraint })
  })

  test.each(Object.entries(doubled))('a duplicate violates %s: %s', async (constraint, statement) => {
    expect(await refusal(database, undone(statement))).toEqual({ code: '23505', constraint })
  })

  test.each(Object.entries(missing))('a reference to a missing row violates %s: %s', async (constraint, statement) => {
    expect(await refusal(database, statement)).toEqual({ code: '23503', constraint })
  })

  test.each(taken)('accept a valid row: %s', async (statement) => {
    expect(await refusal(database, undone(statement))).toBeNull()
  })

  test('are all covered here', async () => {
    const constraints = await database.query<{ name: string }>(
      {
        name: 'constraints',
        text: `select conname::text as name from pg_constraint join pg_class on pg_class.oid = conrelid
          where connamespace = 'public'::regnamespace and relname <> '_prisma_migrations' and contype <> 'n'
          union select relname::text from pg_index join pg_class on pg_class.oid = indexrelid
          where indisunique and relnamespace = 'public'::regnamespace and relname not like '\\_prisma%'`,
      },
      [],
    )
    const tested = [refused, doubled, missing].flatMap((constraint) => Object.keys(constraint))
    expect(constraints.map(({ name }) => name).sort()).toEqual(tested.sort())
  })
})

function statementsOf(
  refusals: Readonly<Record<string, readonly string[]>>,
): [constraint: string, statement: string][] {
  return Object.entries(refusals).flatMap(([constraint, statements]) =>
    statements.map((statement): [string, string] => [constraint, statement]),
  )
}

/** Returns a query of the vault's row with some columns changed. */
function vaultWith(changes: Readonly<Record<string, string>>): string {
  const changed = Object.entries(changes).map(([column, value]) => `'${column}', ${value}`)
  return `select (jsonb_populate_record(vault, jsonb_build_object(${changed.join(', ')}))).* from vault`
}

interface PageColumns {
  readonly vault_id: number
  readonly level: number
  readonly ordinal: number
  readonly first_ts: number
  readonly last_ts: number
  readonly candidates: string
}

/** Returns the columns and values of a change of the vault: time, suspension and fees. */
function changeWith(...values: readonly string[]): string {
  const columns = ['ts', 'suspension_reason', 'suspended_at', 'fees_taxed_usd']
  const feeColumns = ['fees_contributed_usd', 'fees_withdrawn_usd', 'fees_high_water_usd']
  return `(vault_id, ${[...columns, ...feeColumns].join(', ')}) select id, ${values.join(', ')} from vault`
}

/** Inserts an equity page of the vault, whose number is 1: the test has a database with no other before. */
function pageWith(changed: Partial<PageColumns>): string {
  return `insert into equity_page (vault_id, level, ordinal, first_ts, last_ts, candidates) values ${pageValues(changed)}`
}

function pageValues(changed: Partial<PageColumns>): string {
  const page = { vault_id: 1, level: 1, ordinal: 0, first_ts: 1, last_ts: 64, candidates: '\n'.repeat(31), ...changed }
  return `(${page.vault_id}, ${page.level}, ${page.ordinal}, ${page.first_ts}, ${page.last_ts}, '${page.candidates}')`
}

/** Inserts spans of the same vault. */
function spanWith(...rows: readonly string[]): string {
  const values = rows.map((row) => `(1, ${row})`).join(', ')
  return `insert into ledger_span (vault_id, level, ordinal, last_ts) values ${values}`
}

function spanPageWith(...rows: readonly string[]): string {
  const values = rows.map((row) => `(1, ${row})`).join(', ')
  return `insert into ledger_span_page (vault_id, level, ordinal, list, first_key, keys) values ${values}`
}

function venuesOf(table: string): string[] {
  return [`update ${table} set venues = null`, `update ${table} set venues = array['uniswap-v3', null]`]
}

let sent = 0

/** Returns the error of a statement; null where it succeeds. */
async function refusal(database: TestDatabase, text: string): Promise<{ code: unknown; constraint: unknown } | null> {
  try {
    await database.query({ name: `statement_${sent++}`, text }, [])
    return null
  } catch (error) {
    const { code, constraint } = error as { code: unknown; constraint: unknown }
    return code === divisionByZero ? null : { code, constraint }
  }
}

const divisionByZero = '22012'

/** Runs a statement followed by a division by zero, so that it is rolled back where it succeeds. */
function undone(statement: string): string {
  return `with done as (${statement} returning 1) select 1 / (count(*) - count(*)) from done`
}
