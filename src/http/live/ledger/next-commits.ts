import type { CommitPage, LedgerPosition, NoCommits, StreamedCommit } from '../../../graphql/ledger-log.ts'

/** The next commits for a stream, or why there are none after its position. `notInMemory`: the database may have some. */
export type NextCommits = Pick<CommitPage, 'kind' | 'commits'> | NoCommits | { readonly kind: 'notInMemory' }

/** Returns the position after commits; null if there are none. */
export function endOf(commits: readonly StreamedCommit[]): LedgerPosition | null {
  const last = commits.at(-1)
  return last === undefined ? null : { seq: last.seq, version: last.version, rows: null }
}

/** Tells whether a position is that after all commits. */
export function isSamePlace(position: LedgerPosition, end: LedgerPosition | null): boolean {
  return position.rows === null && position.seq === end?.seq && position.version === end.version
}
