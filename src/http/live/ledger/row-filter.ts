import type { StreamedCommit, StreamedRow } from '../../../graphql/ledger-log.ts'

/** Whether a stream of some vaults and types contains a row; null for all. */
export interface RowFilter {
  readonly vaults: ReadonlySet<string> | null
  readonly types: ReadonlySet<string> | null
}

/** A row that a stream contains, with its commit, but without the other rows of that. */
export interface WantedRow {
  readonly seq: number
  readonly version: string
  readonly row: StreamedRow
}

/** Returns the rows of commits that a filter accepts. */
export function wantedRows(commits: readonly StreamedCommit[], { vaults, types }: RowFilter): WantedRow[] {
  const isWanted = ({ vaultAddress, type }: StreamedRow): boolean =>
    (vaults?.has(vaultAddress) ?? true) && (types?.has(type) ?? true)
  return commits.flatMap(({ seq, version, rows }) => rows.filter(isWanted).map((row) => ({ seq, version, row })))
}
