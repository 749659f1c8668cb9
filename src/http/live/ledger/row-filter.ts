import type { StreamedCommit, StreamedRow } from '../../../graphql/ledger-log.ts'

/** The vaults and types of the rows of a stream; null for all. */
export interface RowFilter {
  readonly vaults: ReadonlySet<string> | null
  readonly types: ReadonlySet<string> | null
}

/** Creates a filter; without vaults, or types, it is for all. */
export function rowFilter(
  vaults: Iterable<string> | null | undefined,
  types: Iterable<string> | null | undefined,
): RowFilter {
  return { vaults: vaults == null ? null : new Set(vaults), types: types == null ? null : new Set(types) }
}

/** A row that matches the filter of a stream, with its commit, but without the other rows of that. */
export interface MatchingRow {
  readonly seq: number
  readonly version: string
  readonly row: StreamedRow
}

/** Returns the rows of commits that match a filter. */
export function matchingRows(commits: readonly StreamedCommit[], { vaults, types }: RowFilter): MatchingRow[] {
  const matches = ({ vaultAddress, type }: StreamedRow): boolean =>
    (vaults?.has(vaultAddress) ?? true) && (types?.has(type) ?? true)
  return commits.flatMap(({ seq, version, rows }) => rows.filter(matches).map((row) => ({ seq, version, row })))
}
