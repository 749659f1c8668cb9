import type { Database } from '../../src/database/database.ts'
import { Decimal } from '../../src/domain/decimal.ts'
import { exactJson } from '../support/exact-json.ts'
import { type Client, graphqlRequest } from './client.ts'

/** A vault as served over REST and GraphQL: a line of text for its state, for each point and for each ledger row. */
interface ServedState {
  readonly vault: string
  readonly rest: readonly string[]
  readonly graphql: readonly string[]
}

const stateFields = [
  'valueUsd',
  'capitalInUsd',
  'capitalOutUsd',
  'netUsd',
  'strategyDeltaUsd',
  'marketDeltaUsd',
  'updatedAt',
  'status',
] as const
const pointFields = ['ts', 'valueUsd', 'capitalInUsd', 'capitalOutUsd'] as const
const rowFields = ['txHash', 'logIndex', 'block', 'ts', 'type', 'amountUsd', 'positionId', 'reason'] as const
/** Page sizes, more than the vaults have. */
const maxResults = { points: 2_000, rows: 1_000 }

/** Reads each vault over REST and GraphQL. */
export async function readServedStates(client: Client, vaults: readonly string[]): Promise<ServedState[]> {
  const served: ServedState[] = []
  for (const vault of vaults)
    served.push({ vault, rest: await readOverRest(client, vault), graphql: await readOverGraphql(client, vault) })
  return served
}

/**
 * Compares vaults as served with the rows of the database.
 * @returns the first difference of each vault over each protocol
 */
export async function compareWithDatabase(database: Database, served: readonly ServedState[]): Promise<string[]> {
  const violations: string[] = []
  for (const { vault, rest, graphql } of served) {
    const stored = await readFromDatabase(database, vault)
    violations.push(
      ...firstDifference(`${vault} over REST`, rest, stored),
      ...firstDifference(`${vault} over GraphQL`, graphql, stored),
    )
  }
  return violations
}

/** Returns a message about the first line that differs; none if all are equal. */
function firstDifference(subject: string, served: readonly string[], stored: readonly string[]): string[] {
  const at = stored.findIndex((line, index) => line !== served[index])
  if (at !== -1) return [`${subject}: ${served[at] ?? 'nothing'}, in the database ${stored[at] ?? ''}`]
  return served.length > stored.length ? [`${subject}: ${served[stored.length] ?? ''}, not in the database`] : []
}

type Fields = Readonly<Record<string, unknown>>

/** Reads a vault's snapshot, series and ledger. */
async function readOverRest(client: Client, vault: string): Promise<string[]> {
  const get = async (path: string): Promise<unknown> =>
    exactJson((await client.send({ method: 'GET', target: `/vault/${vault}/${path}` })).body)
  const snapshot = (await get('snapshot')) as Fields
  const points = (await get(`equity?points=${maxResults.points}`)) as Fields[]
  const rows = (await get(`events?limit=${maxResults.rows}`)) as Fields[]
  return stateLines(snapshot, points, rows)
}

/** Reads a vault with its series and ledger by one query. */
async function readOverGraphql(client: Client, vault: string): Promise<string[]> {
  const query = `{ vault(address: "${vault}") { ${stateFields.join(' ')} equity(points: ${maxResults.points}) { ${pointFields.join(' ')} }
    events(first: ${maxResults.rows}) { nodes { ${rowFields.join(' ')} } } } }`
  const { body } = await client.send(graphqlRequest(query))
  const { data } = exactJson(body) as { data: { vault: Fields & { equity: Fields[]; events: { nodes: Fields[] } } } }
  return stateLines(data.vault, data.vault.equity, data.vault.events.nodes)
}

/** Reads a vault's rows by separate statements, which share no code with the gateway's reads. */
async function readFromDatabase(database: Database, vault: string): Promise<string[]> {
  const read = (name: string, text: string): Promise<Fields[]> =>
    database.query<Fields>({ name: `agreement_${name}`, text }, [vault])
  const [state = {}] = await read(
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
  return stateLines(state, points, rows)
}

/** Returns a line for the state, for each point and for each ledger row. */
function stateLines(state: Fields, points: readonly Fields[], rows: readonly Fields[]): string[] {
  return [
    formatFields(state, stateFields),
    ...points.map((each) => formatFields(each, pointFields)),
    ...rows.map((each) => formatFields(each, rowFields)),
  ]
}

/** Formats fields for comparison: numbers without trailing zeros, text in lower case, as REST writes enum values. */
function formatFields(fields: Fields, names: readonly string[]): string {
  return names.map((name) => `${name} ${normalise(fields[name])}`).join(', ')
}

function normalise(value: unknown): string {
  const text = String(value).toLowerCase()
  return /^-?\d+(\.\d+)?$/.test(text) ? new Decimal(text).toFixed() : text
}
