import type { Statement, Transaction } from '../../database.ts'
import { insertSet } from '../sets.ts'

/** Identity of an owner fact: its vault and time, in Unix seconds. */
export interface OwnerIdentity {
  readonly vault: string
  readonly ts: number
}

/** An owner of a vault from some time on. */
export interface RecordedOwner extends OwnerIdentity {
  readonly owner: string
  /** Null for the first owner, whom the vault fact names. */
  readonly digest: string | null
}

const insertOwners = insertSet(
  'vault_owner',
  { vault_address: 'text', ts: 'bigint', owner: 'text', digest: 'text' },
  'on conflict (vault_address, ts) do update set owner = excluded.owner, digest = excluded.digest',
)

/** Appends owners; one of the second in which a vault was opened replaces the first owner. */
export function saveOwners(transaction: Transaction, owners: readonly RecordedOwner[]): void {
  insertOwners(
    transaction,
    owners.map(({ vault, ts, owner, digest }) => ({ vault_address: vault, ts, owner, digest })),
  )
}

const ownersAmong: Statement = {
  name: 'known_owners',
  text: `select vault_address as vault, vault_owner.ts::float8 as ts, digest
    from vault_owner join unnest($1::text[], $2::bigint[]) as wanted(vault, ts)
      on vault_address = vault and vault_owner.ts = wanted.ts
    where digest is not null`,
}

/** Returns the owner facts that were applied already, with the digests of their contents. */
export async function knownOwners(
  transaction: Transaction,
  owners: readonly OwnerIdentity[],
): Promise<(OwnerIdentity & { digest: string })[]> {
  if (owners.length === 0) return []
  return transaction.query(ownersAmong, [owners.map(({ vault }) => vault), owners.map(({ ts }) => ts)])
}
