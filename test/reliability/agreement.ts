import type { Database } from '../../src/database/database.ts'
import { Decimal } from '../../src/domain/decimal.ts'
import { exactJson } from '../support/exact-json.ts'
import type { Client } from './client.ts'

/** All that is told of a vault, as lines: its state, its points and its rows. */
interface Told {
  readonly vault: string
  readonly rest: readonly string[]
  readonly graphql: readonly string[]
}

const state = [
  'valueUsd',
  'capitalInUsd',
  'capitalOutUsd',
  'netUsd',
  'strategyDeltaUsd',
  'marketDeltaUsd',
  'updatedAt',
  'status',
] as const
const point = ['ts', 'valueUsd', 'capitalInUsd', 'capitalOutUsd'] as const
const row = ['txHash', 'logIndex', 'block', 'ts', 'type', 'amountUsd', 'positionId', 'reason'] as const
/** More than the world's vaults have. */
const most = { points: 2_000, rows: 1_000 }

/** Answers of REST and GraphQL for each vault. */
export async function servedStates(client: Client, vaults: readonly string[]): Promise<Told[]> {
  const told: Told[] = []
  for (const vault of vaults)
    told.push({ vault, rest: await byRest(client, vault), graphql: await byGraphql(client, vault) })
  return told
}

/** In what the two and the database differ. */
export async function agreement(database: Database, told: readonly Told[]): Promise<string[]> {
  const flaws: string[] = []
  for (const { vault, rest, graphql } of told) {
    const stored = await inDatabase(database, vault)
    flaws.push(...apart(`${vault} over REST`, rest, stored), ...apart(`${vault} in GraphQL`, graphql, stored))
  }
  return flaws
}

function apart(what: string, told: readonly string[], stored: readonly string[]): string[] {
  const at = stored.findIndex((line, index) => line !== told[index])
  if (at !== -1) return [`${what} tells ${told[at] ?? 'nothing'} where the database has ${stored[at] ?? ''}`]
  return told.length > stored.length ? [`${what} tells ${told[stored.length] ?? ''}, which the database has not`] : []
}

type Fields = Readonly<Record<string, unknown>>

async function byRest(client: Client, vault: string): Promise<string[]> {
  const get = async (path: string): Promise<unknown> =>
    exactJson((await client.ask({ method: 'GET', target: `/vault/${vault}/${path}` })).body)
  const snapshot = (await get('snapshot')) as Fields
  const points = (await get(`equity?points=${most.points}`)) as Fields[]
  const rows = (await get(`events?limit=${most.rows}`)) as Fields[]
  return linesOf(snapshot, points, rows)
}

async function byGraphql(client: Client, vault: string): Promise<string[]> {
  const query = `{ vault(address: "${vault}") { ${state.join(' ')} equity(points: ${most.points}) { ${point.join(' ')} }
    events(first: ${most.rows}) { nodes { ${row.join(' ')} } } } }`
  const headers = { 'content-type': 'application/json', accept: 'application/graphql-response+json' }
  const { body } = await client.ask({ method: 'POST', target: '/graphql', headers, body: JSON.stringify({ query }) })
  const { data } = exactJson(body) as { data: { vault: Fields & { equity: Fields[]; events: { nodes: Fields[] } } } }
  return linesOf(data.vault, data.vault.equity, data.vault.events.nodes)
}

async function inDatabase(database: Database, vault: string): Promise<string[]> {
  const read = (name: string, text: string): Promise<Fields[]> =>
    database.query<Fields>({ name: `agreement_${name}`, text }, [vault])
  const [found = {}] = await read(
    'state',
    `select value_usd::text as "valueUsd", capital_in_usd::text as "capitalInUsd", capital_out_usd::text as "capitalOutUsd",
      net_usd::text as "netUsd", strategy_delta_usd::text as "strategyDeltaUsd", market_delta_usd::text as "marketDeltaUsd",
      updated_at::text as "updatedAt", status::text as status from vault where lower(address) = $1`,
  )
  const points = await read(
    'points',
    `select ts::text as ts, equity_point.value_usd::text as "valueUsd", equity_point.capital_in_usd::text as "capitalInUsd",
      equity_point.capital_out_usd::text as "capitalOutUsd" from equity_point join vault on id = vault_id where lower(address) = $1 order by equity_point.ts`,
  )
  const rows = await read(
    'rows',
    `select '0x' || encode(tx_hash, 'hex') as "txHash", log_index::text as "logIndex", block::text as block, ts::text as ts, type::text as type,
      amount_usd::text as "amountUsd", position_id as "positionId", reason
      from ledger_row join vault on id = vault_id where lower(address) = $1 order by ledger_row.block desc, ledger_row.log_index desc`,
  )
  return linesOf(found, points, rows)
}

function linesOf(found: Fields, points: readonly Fields[], rows: readonly Fields[]): string[] {
  return [lineOf(found, state), ...points.map((each) => lineOf(each, point)), ...rows.map((each) => lineOf(each, row))]
}

/** Numbers by their value, however many zeros they end in, and words in one case: GraphQL writes them in capitals. */
function lineOf(fields: Fields, names: readonly string[]): string {
  return names.map((name) => `${name} ${plain(fields[name])}`).join(', ')
}

function plain(value: unknown): string {
  const text = String(value).toLowerCase()
  return /^-?\d+(\.\d+)?$/.test(text) ? new Decimal(text).toFixed() : text
}
