import type { Statement, Transaction } from '../../database.ts'

/** The pool of a position. */
export interface PositionPool {
  readonly a: string
  readonly b: string
  readonly venue: string
}

/** Writes only differences: a mark seldom changes the pools of a vault. */
const changePools: Statement = {
  name: 'change_vault_pools',
  text: `with held as materialized (
      select pool.vault_id, a, b, venue from unnest($1::integer[]) as marked(id) join vault_pool pool on pool.vault_id = marked.id),
    shown as materialized (
      select distinct vault_id, a, b, venue
      from unnest($2::integer[], $3::text[], $4::text[], $5::text[]) as shown(vault_id, a, b, venue)),
    closed as (
      delete from vault_pool pool using (select * from held except select * from shown) gone
      where (pool.vault_id, pool.a, pool.b, pool.venue) = (gone.vault_id, gone.a, gone.b, gone.venue))
    insert into vault_pool (vault_id, a, b, venue) select * from shown except select * from held`,
}

/**
 * Replaces the pools of vaults.
 * @param shown open positions by vault
 */
export function replacePools(
  transaction: Transaction,
  shown: ReadonlyMap<number, readonly { readonly pool: PositionPool }[]>,
): void {
  if (shown.size === 0) return
  const places = [...shown].flatMap(([vaultId, positions]) => positions.map(({ pool }) => ({ vaultId, pool })))
  transaction.send(changePools, [
    [...shown.keys()],
    places.map(({ vaultId }) => vaultId),
    places.map(({ pool }) => pool.a),
    places.map(({ pool }) => pool.b),
    places.map(({ pool }) => pool.venue),
  ])
}
