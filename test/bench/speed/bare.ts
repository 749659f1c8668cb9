/**
 * Reference system: a `node:http` handler that runs one prepared statement per request, which returns the response body as
 * JSON. It does not validate the request. Its answers are equal to the gateway's. The path is `/NAME` or `/NAME/ADDRESS`,
 * with the name of a workload; PORT and DATABASE_URL are in the environment.
 */
import { createServer } from 'node:http'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 })

const position = `json_build_object('id', p.id,
  'pool', json_build_object('a', p.a, 'b', p.b, 'venue', p.venue, 'feeTier', p.fee_tier),
  'range', json_build_object('lower', p.price_lower, 'upper', p.price_upper, 'current', p.price_current),
  'inRange', p.in_range, 'pendingRewardsUsd', p.pending_rewards_usd)`
const positions = `coalesce((select json_agg(${position} order by p.ordinal) from position p where p.vault_id = v.id), '[]')`
const pairs = `coalesce((select json_agg(json_build_object('a', a, 'b', b, 'venues', venues) order by p.ordinal)
  from strategy_pair p where p.strategy_id = s.id), '[]')`

const texts: Readonly<Record<string, string>> = {
  W1: `select json_build_object('vault', address, 'owner', owner, 'status', status, 'strategy', strategy_id, 'valueUsd', value_usd,
      'capitalInUsd', capital_in_usd, 'capitalOutUsd', capital_out_usd, 'netUsd', net_usd,
      'strategyDeltaUsd', strategy_delta_usd, 'marketDeltaUsd', market_delta_usd, 'positions', ${positions},
      'fees', json_build_object('contributedUsd', fees_contributed_usd, 'withdrawnUsd', fees_withdrawn_usd,
        'taxedUsd', fees_taxed_usd, 'highWaterUsd', fees_high_water_usd),
      'suspension', case when suspended_at is not null
        then json_build_object('reason', suspension_reason, 'since', suspended_at, 'exitsAvailable', true) end,
      'updatedAt', updated_at)::text as body
    from vault v where address = $1`,
  W2: `select json_agg(json_build_object('address', v.address, 'status', upper(v.status::text), 'valueUsd', v.value_usd,
      'netUsd', v.net_usd, 'strategyDeltaUsd', v.strategy_delta_usd, 'marketDeltaUsd', v.market_delta_usd,
      'strategy', json_build_object('id', s.id, 'name', s.name, 'liveApr', s.live_apr, 'sigma', s.sigma, 'pairs', ${pairs}),
      'positions', ${positions}) order by v.value_usd desc, v.address desc)::text as body
    from (select * from vault order by value_usd desc, address desc limit 50) v join strategy s on s.id = v.strategy_id`,
  W3: `select coalesce(json_agg(json_build_object('txHash', '0x' || encode(tx_hash, 'hex'), 'logIndex', log_index, 'block', block, 'ts', ts,
      'type', type, 'amountUsd', amount_usd, 'positionId', position_id, 'reason', reason)), '[]')::text as body
    from (select * from ledger_row where vault_id = (select id from vault where address = $1) and type = 'harvest'
      order by block desc, log_index desc, tx_hash desc limit 100) page`,
  W5: `select json_agg(json_build_object('id', id, 'name', name, 'tagline', tagline, 'description', description, 'pairs', ${pairs},
      'liveApr', live_apr, 'sigma', sigma) order by ordinal)::text as body from strategy s`,
  W6: `select json_agg(json_build_object('symbol', symbol, 'name', name, 'category', category, 'venues', venues,
      'liquidityUsd', liquidity_usd) order by ordinal)::text as body from universe_asset`,
}

const server = createServer((request, response) => {
  const [, name = '', address] = (request.url ?? '').split('/')
  const statement = { name, text: texts[name] ?? '', values: address === undefined ? [] : [address] }
  pool.query<{ body: string }>(statement).then(
    ({ rows }) => {
      const body = Buffer.from(rows[0]?.body ?? 'null')
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length })
      response.end(body)
    },
    (error: unknown) => response.writeHead(500).end(String(error)),
  )
})
server.listen(Number(process.env['PORT']), '127.0.0.1')
