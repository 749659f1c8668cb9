import { vaultStatuses, type VaultStatus } from '../../../domain/vault.ts'
import type { Read, Reader } from '../../database.ts'
import { rowCodec } from '../row-codec.ts'
import type { VaultRow } from '../rows.ts'
import { vaultOf } from '../vault.ts'
import { type Scope, scopeOf, statusesOf, strategiesOfList, type VaultFilter } from './filter.ts'
import {
  beforeAll,
  cursorSql,
  type Direction,
  orderSql,
  type OrderSql,
  type VaultCursor,
  type VaultOrder,
} from './order.ts'

/** A page of a list of vaults. */
export interface VaultPage {
  readonly filter: VaultFilter
  readonly orderBy: VaultOrder
  readonly direction: Direction
  readonly first: number
  readonly after: VaultCursor | null
}

/** A vault in a page, with its list and the value for its cursor. */
export interface PagedVaultRow extends VaultRow {
  /** The strategy of the list, or `allStrategies`. */
  readonly list: string
  readonly orderValue: string
}

/** Maximum number of lists in one statement: each may have a page of many vaults. */
const maxLists = 8

/** Those that not all scopes have are the last. */
const parameters = { status: '$2', value: '$3', address: '$4', limit: '$5', strategy: '$6', owner: '$7' } as const
const parametersOf: Record<Scope, number> = { all: 5, strategy: 6, owner: 7 }
/** Maximum number of rows of a page, with the one that tells of a next page. */
const mostPageRows = 256
const limit = `limit (select ${parameters.limit}::integer)`
/** A number that the planner knows: it then reads an index in order, and does not sort all vaults of a status. */
const knownLimit = `limit ${mostPageRows}`
const strategies = strategiesOfList(parameters.strategy)
const owners = `unnest((select ${parameters.owner}::text[])) as wanted(owner)`

/**
 * Selects vaults in order from one index, whose columns are some that are equal, the status and the order. The ranges of
 * its statuses are merged lazily (Merge Append): as many rows are read as are returned, and one more for each status.
 */
function inOrder(equal: string, { addressBytes, afterCursor, orderBy, orderByIndex }: OrderSql): string {
  const rangeOf = (status: VaultStatus): string => `(
    select vault.*, ${addressBytes} as address_bytes from vault
    where ${equal} status = '${status}' and '${status}' = any(asked.statuses) and ${afterCursor}
    order by ${orderByIndex} ${knownLimit})`
  return `select * from (${vaultStatuses.map(rangeOf).join(' union all ')}) vault order by ${orderBy} ${limit}`
}

/**
 * Selects the vaults of owners in order. Those of a small owner are few, and sorted; those of a large owner have indexes
 * for each of its strategies.
 */
function ofOwners(sql: OrderSql): string {
  const { addressBytes, afterCursor, orderBy } = sql
  const among = (table: string): string => `and (${strategies} is null or ${table}.strategy_id = any(${strategies}))`
  const equal = `owner_is_large and owner = tally.owner and strategy_id = tally.strategy_id and`
  return `select vault.* from (
    (select few.* from ${owners} cross join lateral (
      select vault.*, ${addressBytes} as address_bytes from vault
      where not owner_is_large and owner = wanted.owner and status = any(asked.statuses) ${among('vault')} and ${afterCursor}
      offset 0) few order by ${orderBy} ${limit})
    union all
    (select many.* from ${owners} cross join lateral (
      select * from owner_tally tally where owner = wanted.owner and large > 0 ${among('tally')} offset 0) tally
      cross join lateral (${inOrder(equal, sql)}) many order by ${orderBy} ${limit})
  ) vault order by ${orderBy} ${limit}`
}

function inScope(scope: Scope, sql: OrderSql): string {
  switch (scope) {
    case 'all':
      return inOrder('', sql)
    case 'strategy':
      return `select vault.* from unnest(${strategies}) as wanted(strategy)
        cross join lateral (${inOrder('strategy_id = wanted.strategy and', sql)}) vault order by ${sql.orderBy} ${limit}`
    case 'owner':
      return ofOwners(sql)
  }
}

/**
 * Creates the statement of a page. Its values stand in a subquery of their own: with values that it can estimate by, the
 * planner would prefer a plan for each execution to one that it keeps.
 * @see PostgreSQL documentation, PREPARE, "Notes" on generic and custom plans
 */
function pageStatement(scope: Scope, orderBy: VaultOrder, direction: Direction): Read {
  const sql = orderSql(orderBy, direction, 'asked')
  const { select, decode } = rowCodec<PagedVaultRow>((c) =>
    // Object spread would create objects in dictionary mode, which are slow to read.
    Object.assign(vaultOf(c), { list: c.text('list.strategy'), orderValue: c.raw(`vault.${sql.column}`) }),
  )
  return {
    name: `vault_page_${orderBy}_${direction}${scope === 'all' ? '' : `_of_${scope}`}`,
    source: 'all vaults',
    batching: { kind: 'keyed', keyColumn: 'list', maxKeys: maxLists },
    text: `${select} from unnest((select $1::text[])) as list(strategy)
      cross join (select ${parameters.status}::text[]::vault_status[] as statuses,
        ${cursorSql(orderBy, parameters.value, parameters.address)} offset 0) asked
      cross join lateral (${inScope(scope, sql)}) vault`,
    decode,
  }
}

/** Statements by name, created when they are first used: few of the combinations ever are. */
const statements = new Map<string, Read>()

function statementFor(scope: Scope, orderBy: VaultOrder, direction: Direction): Read {
  const key = `${scope} ${orderBy} ${direction}`
  const known = statements.get(key) ?? pageStatement(scope, orderBy, direction)
  statements.set(key, known)
  return known
}

/**
 * Reads a page of each of several lists of vaults.
 * @param lists the strategy of each list, or `allStrategies`
 * @throws {RangeError} if a page is longer than 255 vaults
 * @returns the rows in order for each list, and one more where there is one, which tells whether there is a next page
 */
export function readVaultPages(database: Reader, lists: readonly string[], page: VaultPage): Promise<PagedVaultRow[]> {
  const { filter, orderBy, direction, first } = page
  if (first >= mostPageRows) throw new RangeError(`a page of ${first} vaults is longer than ${mostPageRows - 1}`)
  const scope = scopeOf(lists, filter)
  const { value, address } = page.after ?? beforeAll(orderBy, direction)
  const values = [lists, statusesOf(filter), value, address, first + 1, filter.strategy, filter.owner]
  return database.query(statementFor(scope, orderBy, direction), values.slice(0, parametersOf[scope]))
}
