import type { VaultRow } from '../../../database/read/rows.ts'
import { readVaults } from '../../../database/read/vault.ts'
import { readVaultsAt } from '../../../database/read/past/vault-at.ts'
import { HistoryNotKept } from '../../../domain/errors.ts'
import type { Context } from '../../execution/context.ts'
import { createLoader } from '../../execution/data-loaders.ts'

export const loadVault = createLoader('vaults', async (database, addresses: readonly string[]) => {
  const vaults = await readVaults(database, addresses)
  return new Map(vaults.map((vault) => [vault.address, vault]))
})

const loadStateAt = createLoader('vaults at', async (database, addresses: readonly string[], at: number) =>
  readVaultsAt(database, addresses, at),
)

/**
 * Loads a vault as it was at the end of a second; undefined where it did not exist.
 * @param at Unix seconds; null for the vault as it is now
 * @throws {HistoryNotKept} if its state then is not kept
 */
export async function loadVaultAt(
  context: Context,
  address: string,
  at: number | null | undefined,
): Promise<VaultRow | undefined> {
  if (at == null) return loadVault(context, address, null)
  const found = await loadStateAt(context, address, at)
  if (found !== undefined && 'historySince' in found) throw new HistoryNotKept(address, at, found.historySince)
  return found
}
