import type { NoPage, StreamedCommit } from '../../../graphql/ledger-log.ts'

/** The next commits for a stream, or why there are none behind its position. */
export type Following = { readonly commits: readonly StreamedCommit[] } | NoPage

/** A stream of rows that reads on when there are more. */
export interface Follower {
  advance(): void
  /** Tells the client that rows may be late. */
  tellStale(): void
  /** Notes that commits are not heard of. */
  loseTouch(): void
}
