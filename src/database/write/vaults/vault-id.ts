import type { Statement, Transaction } from '../../database.ts'

const nextIds: Statement = {
  name: 'next_vault_ids',
  text: `select wanted.address, nextval('vault_id_seq')::integer as id from unnest($1::text[]) as wanted(address)
    where not exists (select from vault where vault.address = wanted.address)`,
}

/** Reserves ids for the vaults that are not stored, by address. No id is reserved twice. */
export async function reserveVaultIds(
  transaction: Transaction,
  addresses: readonly string[],
): Promise<Map<string, number>> {
  if (addresses.length === 0) return new Map()
  const ids = await transaction.query<{ address: string; id: number }>(nextIds, [addresses])
  return new Map(ids.map(({ address, id }) => [address, id]))
}
