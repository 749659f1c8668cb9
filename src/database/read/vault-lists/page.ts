import type { Read, Reader } from '../../database.ts'
import { namedLists } from '../expressions.ts'
import type { Tables } from '../../prisma/columns.ts'
import { modelCodec } from '../row-codec.ts'
import type { VaultRow } from '../rows.ts'
import { columnsOfVault } from '../vault.ts'
import { byScope, isByPool, type ListsInScope, type Scope, statusesOf, type VaultFilter } from './filter.ts'
import { filterColumns, filteredInScope, filterValues } from './filtered.ts'
import {
  beforeAll,
  cursorSql,
  type Direction,
  laterCursor,
  orderSql,
  type OrderSql,
  type VaultCursor,
  type VaultOrderName,
} from './order.ts'
import { parameters, type PageValues, valuesOf } from './parameters.ts'
import { inScope, maxPageRows, pageExtent } from './ranges.ts'

/** The page of a list of vaults that is requested. */
export interface VaultPageRequest {
  readonly filter: VaultFilter
  readonly orderBy: VaultOrderName
  readonly direction: Direction
  readonly first: number
  readonly after: VaultCursor | null
}

/** A vault in a page, with its list and the value for its cursor. */
export interface PagedVaultRow extends VaultRow {
  /** The strategy of the list, or `allStrategies`. */
  readonly list: string
  readonly orderValue: string
  readonly isMatch: boolean
  /** Whether no vault after it was examined: the page ends with it, though it may not be full. */
  readonly isLastExamined: boolean
}

/** Maximum number of lists in one statement: each may have a page of many vaults. */
const maxLists = 8

/**
 * How a page is read. `indexed`: in the order of an index whose first columns are the filter. `ranged`: also up to a value, by
 * which the page is ordered. `filtered`: by a filter that is no prefix of an index.
 */
type AccessPath = 'indexed' | 'ranged' | 'filtered'

function accessPathOf({ filter, orderBy }: VaultPageRequest): AccessPath {
  if (isByPool(filter)) return 'filtered'
  if (filter.valueUsd === null) return 'indexed'
  return orderBy === 'VALUE_USD' ? 'ranged' : 'filtered'
}

const statusColumn = `${parameters.status}::text[]::vault_status[] as statuses`
/** The columns of the row `requested`, besides the cursor. All parameters before the last one must be named. */
const columnsOf: Record<AccessPath, string> = {
  indexed: statusColumn,
  ranged: `${statusColumn}, ${parameters.strategy}::text[], ${parameters.owner}::text[], ${parameters.gte}::numeric as bound`,
  filtered: filterColumns,
}

function vaultsOf(path: AccessPath, scope: Scope, sql: OrderSql, direction: Direction): string {
  if (path === 'filtered') return filteredInScope(scope, sql)
  const bounds = `and vault.value_usd ${direction === 'ASC' ? '<=' : '>='} requested.bound`
  return inScope(scope, sql, path === 'ranged' ? { ...pageExtent, bounds } : pageExtent)
}

/**
 * Creates the statement of a page. Its values are in a subquery, which hides them from the planner: otherwise it would prefer
 * a new plan for each execution to its cached plan.
 * @see PostgreSQL documentation, PREPARE, "Notes" on generic and custom plans
 */
function pageStatement(name: string, { path, scope, orderBy, direction }: PageKind): Read {
  const sql = orderSql(orderBy, direction, 'requested')
  const isFiltered = path === 'filtered'
  const { select, decode } = modelCodec<PageRows, PagedVaultRow>((c) =>
    // Object spread would create objects in dictionary mode, which are slow to read.
    Object.assign(columnsOfVault(c), {
      list: c.text('list.strategy'),
      orderValue: c.raw(`vault.${sql.column}`),
      isMatch: isFiltered ? c.boolean('vault.is_match') : true,
      isLastExamined: isFiltered ? c.boolean('vault.is_last_examined') : false,
    }),
  )
  return {
    name,
    dependsOn: 'all vaults',
    batching: { kind: 'keyed', keyProperty: 'list' },
    maxKeys: maxLists,
    isLong: isFiltered,
    text: `${select} from ${namedLists}
      cross join lateral (select ${columnsOf[path]}, ${cursorSql(orderBy, parameters.value, parameters.address)} offset 0) requested
      cross join lateral (${vaultsOf(path, scope, sql, direction)}) vault`,
    decode,
  }
}

/** The vaults of lists; `isMatch` and `isLastExamined` are of filtered pages. */
type PageRows = {
  readonly vault: Tables['vault'] & { readonly isMatch: boolean; readonly isLastExamined: boolean }
  readonly list: { readonly strategy: string }
}

interface PageKind {
  readonly path: AccessPath
  readonly scope: Scope
  readonly orderBy: VaultOrderName
  readonly direction: Direction
}

/** Statements by name, created when they are first used: few of the combinations ever are. */
const statements = new Map<string, Read>()

function statementFor(kind: PageKind): Read {
  const { path, scope, orderBy, direction } = kind
  const name = `vault_page_${orderBy}_${direction}${scope === 'all' ? '' : `_of_${scope}`}${path === 'indexed' ? '' : `_${path}`}`
  const known = statements.get(name) ?? pageStatement(name, kind)
  statements.set(name, known)
  return known
}

/**
 * Reads a page of each of several lists of vaults.
 * @param lists the strategy of each list, or `allStrategies`
 * @throws {RangeError} if a page is longer than 255 vaults
 * @returns the rows in order for each list, and one more where there is one, which indicates a next page
 */
export async function readVaultPages(
  reader: Reader,
  lists: readonly string[],
  page: VaultPageRequest,
): Promise<PagedVaultRow[]> {
  const { filter, first } = page
  if (first >= maxPageRows) throw new RangeError(`a page of ${first} vaults is longer than ${maxPageRows - 1}`)
  const pages = byScope(lists, filter).map((inScope) => readPagesInScope(reader, inScope, page))
  return (await Promise.all(pages)).flat()
}

function readPagesInScope(
  reader: Reader,
  { scope, lists }: ListsInScope,
  page: VaultPageRequest,
): Promise<PagedVaultRow[]> {
  const { filter, orderBy, direction, first } = page
  const path = accessPathOf(page)
  const { value, address } = firstPlace(page)
  const ofAllPages = { lists, status: statusesOf(filter), value, address, limit: first + 1 }
  const values = valuesOf({ ...ofAllPages, ...restOf(path, scope, page) })
  return reader.query(statementFor({ path, scope, orderBy, direction }), values)
}

/** Returns the position before the page: its cursor, or the start of the wanted values. */
function firstPlace({ filter: { valueUsd }, orderBy, direction, after }: VaultPageRequest): VaultCursor {
  const first = beforeAll(orderBy, direction)
  const value = orderBy === 'VALUE_USD' ? valueUsd?.[direction === 'ASC' ? 'gte' : 'lte'] : null
  if (value == null) return after ?? first
  const bound = { ...first, value }
  return after === null ? bound : laterCursor(after, bound, direction)
}

/** Returns the values of the parameters that not every page has: an indexed one only those of its scope. */
function restOf(path: AccessPath, scope: Scope, { filter, orderBy, direction }: VaultPageRequest): PageValues {
  const { strategy, owner, valueUsd } = filter
  if (path === 'indexed') return { all: {}, strategy: { strategy }, owner: { strategy, owner } }[scope]
  if (path === 'filtered') return { strategy, owner, ...filterValues(filter) }
  const end = direction === 'ASC' ? valueUsd?.lte : valueUsd?.gte
  return { strategy, owner, gte: end ?? beforeAll(orderBy, direction === 'ASC' ? 'DESC' : 'ASC').value }
}
