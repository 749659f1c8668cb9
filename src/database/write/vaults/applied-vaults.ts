import type { AppliedEvent, AppliedVault } from '../../../domain/identity/applied-vault.ts'
import type { Statement, Transaction } from '../../database.ts'
import { hexOf } from '../../read/expressions.ts'

/** How far the facts of vaults are applied, at one moment. */
export interface AppliedVaults {
  readonly vaults: readonly AppliedVault[]
  /** The newest commit at that moment; null before the first. */
  readonly version: string | null
}

/** One statement, so that rows and version are of one snapshot. The left join keeps the version where there are no vaults. */
const appliedAmong: Statement = {
  name: 'applied_vaults',
  text: `select head.version, vault.address, vault.updated_at::float8 as ts, point.mark_digest is not null as "isMarked",
      rows.events
    from (select (select version from data_head) as version) as head
      left join vault on vault.address = any($1::text[])
      left join equity_point as point on point.vault_id = vault.id and point.ts = vault.updated_at
      left join lateral (
        select json_agg(json_build_object('txHash', ${hexOf('tx_hash')}, 'logIndex', log_index)) as events from ledger_row
        where ledger_row.vault_id = vault.id and ledger_row.ts = vault.updated_at and point.mark_digest is null
      ) as rows on true`,
}

interface AppliedVaultRow {
  readonly version: string | null
  /** Null where none of the vaults has facts. */
  readonly address: string | null
  readonly ts: number
  readonly isMarked: boolean
  readonly events: readonly AppliedEvent[] | null
}

/** Reads how far the facts of vaults are applied; vaults without facts are left out. */
export async function readAppliedVaults(
  transaction: Transaction,
  addresses: readonly string[],
): Promise<AppliedVaults> {
  const rows = await transaction.query<AppliedVaultRow>(appliedAmong, [[...addresses]])
  const vaults = rows.flatMap(({ address, ts, isMarked, events }) =>
    address === null ? [] : [{ address, ts, isMarked, events: events ?? [] }],
  )
  return { vaults, version: rows[0]?.version ?? null }
}
