import { type VaultStatus, vaultStatuses } from '../../../domain/vault.ts'
import type { Statement, Transaction } from '../../database.ts'
import type { ColumnOf, Tables } from '../../prisma/columns.ts'

/** Minimum number of vaults of a large owner: lists of its later vaults are read from indexes, not sorted. */
export const largeOwnerVaults = 16

const smallVaults: Statement = {
  name: 'small_vaults',
  text: `select owner, count(*)::integer as count from vault
    where owner = any($1::text[]) and not owner_is_large group by owner`,
}

/** Counts the vaults that owners have received before they were large. */
export async function countSmallVaults(
  transaction: Transaction,
  owners: readonly string[],
): Promise<Map<string, number>> {
  if (owners.length === 0) return new Map()
  const counts = await transaction.query<{ owner: string; count: number }>(smallVaults, [owners])
  return new Map(counts.map(({ owner, count }) => [owner, count]))
}

/** The properties of a vault by which it is counted. */
export interface CountedVault {
  readonly owner: string
  readonly strategyId: string
  readonly ownerIsLarge: boolean
  readonly status: VaultStatus
}

/** A vault that was opened, or whose counted properties may have changed. */
export interface CountChange {
  /** Null where the vault was opened. */
  readonly before: CountedVault | null
  readonly after: CountedVault
}

type Counts = Record<VaultStatus | 'large', number>

/**
 * Creates a statement that adds to tallies, and inserts missing ones. The caller needs a lock against other writers: ON
 * CONFLICT cannot be used, because it checks the constraints on the added counts, which may be negative.
 * @param keys columns that identify a tally
 */
function addTo<Table extends keyof Tables>(
  table: Table,
  keys: readonly ColumnOf<Table>[],
  counted: readonly (keyof Counts & ColumnOf<Table>)[],
): Statement {
  const counts: readonly string[] = counted
  const columns = [...keys, ...counts].join(', ')
  const types = [...keys.map((key) => `${key} text`), ...counts.map((count) => `${count} integer`)]
  const isOf = (other: string): string => keys.map((key) => `${other}.${key} = added.${key}`).join(' and ')
  return {
    name: `add_to_${table}`,
    text: `with added as (select * from jsonb_to_recordset($1::jsonb) as added(${types.join(', ')})), updated as (
        update ${table} set ${counts.map((count) => `${count} = ${table}.${count} + added.${count}`).join(', ')}
        from added where ${isOf(table)} returning ${keys.map((key) => `${table}.${key}`).join(', ')})
      insert into ${table} (${columns}) select ${columns} from added
      where not exists (select from updated where ${isOf('updated')})`,
  }
}

const addToStrategies = addTo('strategy_tally', ['strategy_id'], vaultStatuses)
const addToOwners = addTo('owner_tally', ['owner', 'strategy_id'], [...vaultStatuses, 'large'])

/**
 * Counts vaults by strategy, owner and status. All writers change the same rows: it must follow `appendCommit`, whose
 * lock serialises them.
 */
export function saveVaultTallies(transaction: Transaction, changes: readonly CountChange[]): void {
  const moved = changes.filter(({ before, after }) => before === null || !isCountedAlike(before, after))
  if (moved.length === 0) return
  transaction.send(addToStrategies, [tallies(moved, ({ strategyId: strategy_id }) => ({ strategy_id }))])
  transaction.send(addToOwners, [tallies(moved, ({ owner, strategyId: strategy_id }) => ({ owner, strategy_id }))])
}

function isCountedAlike(one: CountedVault, other: CountedVault): boolean {
  return one.owner === other.owner && one.status === other.status && one.ownerIsLarge === other.ownerIsLarge
}

function tallies(changes: readonly CountChange[], keyOf: (vault: CountedVault) => object): string {
  const added = new Map<string, object & Counts>()
  const add = (vault: CountedVault, count: 1 | -1): void => {
    const key = keyOf(vault)
    const name = JSON.stringify(key)
    const tally = added.get(name) ?? { ...key, ...none }
    added.set(name, tally)
    tally[vault.status] += count
    if (vault.ownerIsLarge) tally.large += count
  }
  for (const { before, after } of changes) {
    if (before !== null) add(before, -1)
    add(after, 1)
  }
  return JSON.stringify([...added.values()])
}

const none: Counts = { idle: 0, planting: 0, earning: 0, attention: 0, exiting: 0, suspended: 0, large: 0 }
