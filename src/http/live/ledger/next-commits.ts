import type { CommitPage, LedgerPosition, NoCommits } from '../../../graphql/ledger-log.ts'

/** The next commits for a stream, or why there are none after its position. `notInMemory`: the database may have some. */
export type NextCommits = Pick<CommitPage, 'kind' | 'commits' | 'end'> | NoCommits | { readonly kind: 'notInMemory' }

/** Tells whether a position is that after all commits. */
export function isSamePlace(position: LedgerPosition, end: LedgerPosition | null): boolean {
  return position.rows === null && position.seq === end?.seq && position.version === end.version
}
