import type { Read, Reader } from '../database.ts'
import type { EquityRow } from './rows.ts'

const equityByVault: Read = {
  name: 'equity_by_vault',
  from: 'named vaults',
  text: `select vault_address as "vaultAddress", ts::float8 as ts, value_usd::text as "valueUsd",
      capital_in_usd::text as "capitalInUsd", capital_out_usd::text as "capitalOutUsd", net_usd::text as "netUsd"
    from equity_point where vault_address = any($1::text[]) and ts >= $2::bigint and ts < $3::bigint
    order by vault_address, ts`,
}

/** A span of time in Unix seconds: from, included, to, not included. */
export interface Window {
  readonly since: number
  readonly until: number
}

/** The equity points of vaults in a window, each vault's in order of time. */
export function readEquity(database: Reader, addresses: readonly string[], window: Window): Promise<EquityRow[]> {
  return database.query(equityByVault, [addresses, window.since, window.until])
}
