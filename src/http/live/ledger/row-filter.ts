import type { StreamedRow } from '../../../graphql/ledger-log.ts'

/** Whether a stream of some vaults and types contains a row; null for all. */
export interface RowFilter {
  readonly vaults: ReadonlySet<string> | null
  readonly types: ReadonlySet<string> | null
}

/** Returns whether a filter accepts a row. */
export function accepts({ vaults, types }: RowFilter, row: StreamedRow): boolean {
  return (vaults?.has(row.vaultAddress) ?? true) && (types?.has(row.type) ?? true)
}
