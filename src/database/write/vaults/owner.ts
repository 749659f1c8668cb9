import type { Statement, Transaction } from '../../database.ts'
import { bytesOrNull, upsertSet } from '../sets.ts'

/** Identity of an owner fact: the address of its vault, and its time in Unix seconds. */
export interface OwnerIdentity {
  readonly vault: string
  readonly ts: number
}

/** An owner of a vault from some time on. */
export interface RecordedOwner {
  readonly vaultId: number
  /** Unix seconds. */
  readonly ts: number
  readonly owner: string
  /** Null for the first owner, whom the vault fact names. */
  readonly digest: string | null
}

const upsertOwners = upsertSet('vault_owner', { vault_id: 'integer', ts: 'bigint', owner: 'text', digest: 'bytea' }, [
  'vault_id',
  'ts',
])

/** Appends owners; one of the second in which a vault was opened replaces the first owner. */
export function saveOwners(transaction: Transaction, owners: readonly RecordedOwner[]): void {
  upsertOwners(
    transaction,
    owners.map(({ vaultId, ts, owner, digest }) => ({ vault_id: vaultId, ts, owner, digest: bytesOrNull(digest) })),
  )
}

const ownersAmong: Statement = {
  name: 'known_owners',
  text: `select wanted.vault, vault_owner.ts::float8 as ts, encode(vault_owner.digest, 'hex') as digest
    from unnest($1::text[], $2::bigint[]) as wanted(vault, ts) join vault on vault.address = wanted.vault
      join vault_owner on vault_id = vault.id and vault_owner.ts = wanted.ts
    where vault_owner.digest is not null`,
}

/** Returns the owner facts that were applied already, with the digests of their contents. */
export async function knownOwners(
  transaction: Transaction,
  owners: readonly OwnerIdentity[],
): Promise<(OwnerIdentity & { digest: string })[]> {
  if (owners.length === 0) return []
  return transaction.query(ownersAmong, [owners.map(({ vault }) => vault), owners.map(({ ts }) => ts)])
}
