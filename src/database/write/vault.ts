import { Decimal } from '../../domain/decimal.ts'
import type { Statement, Transaction } from '../database.ts'
import { appendSet, selectList, updateSet } from './sets.ts'
import {
  type StoredDay,
  type StoredVault,
  toRecord,
  toVaultColumns,
  vaultColumnTypes,
  type VaultRecord,
} from './vaults/vault-record.ts'

const locked: Statement = {
  name: 'lock_vaults',
  text: `select ${selectList(vaultColumnTypes)}
    from vault where address = any($1::text[]) order by address for update`,
}
/**
 * A separate statement, because only statements after the lock see rows of other tables that the previous lock holder committed.
 * @see PostgreSQL documentation, "Transaction Isolation", section "Read Committed Isolation Level"
 */
const holdingsOf: Statement = {
  name: 'holdings_of_vaults',
  text: `select vault.address as vault, symbol, quantity::text from vault join benchmark_holding on vault_id = vault.id
    where vault.address = any($1::text[])`,
}
const newestDays: Statement = {
  name: 'newest_days',
  text: `select wanted.address as vault, newest.day, newest.start_usd::text, newest.growth::text
    from unnest($1::text[]) as wanted(address) join vault on vault.address = wanted.address cross join lateral (
      select day, start_usd, growth from vault_day where vault_id = vault.id order by day desc limit 1) newest`,
}

/** Reads vaults and locks them until the transaction ends. */
export async function lockVaults(transaction: Transaction, addresses: readonly string[]): Promise<VaultRecord[]> {
  if (addresses.length === 0) return []
  const [vaults, holdings, days] = await Promise.all([
    transaction.query<StoredVault>(locked, [addresses]),
    transaction.query<StoredHolding>(holdingsOf, [addresses]),
    transaction.query<StoredDay>(newestDays, [addresses]),
  ])
  const dayOf = new Map(days.map((day) => [day.vault, day]))
  const held = new Map(vaults.map(({ address }) => [address as string, new Map<string, Decimal>()]))
  for (const { vault, symbol, quantity } of holdings) held.get(vault)?.set(symbol, new Decimal(quantity))
  return vaults.map((vault) => toRecord(vault, held.get(vault.address) ?? new Map(), dayOf.get(vault.address)))
}

interface StoredHolding {
  readonly vault: string
  readonly symbol: string
  readonly quantity: string
}

const appendVaults = appendSet('vault', vaultColumnTypes)
const updateVaults = updateSet('vault', vaultColumnTypes, 'id')

/** Inserts and updates vaults. An insert fails where another writer has opened the same vault meanwhile. */
export function saveVaults(
  transaction: Transaction,
  opened: readonly VaultRecord[],
  changed: readonly VaultRecord[],
): void {
  appendVaults(transaction, opened.map(toVaultColumns))
  updateVaults(transaction, changed.map(toVaultColumns))
}
