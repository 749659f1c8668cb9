import type { FeedPosition } from '../../database/write/feed.ts'
import type { ValidationIssue } from '../errors.ts'
import type { Fact, FactKind } from '../fact/fact.ts'

/**
 * A validated fact, with a digest of its contents, or the problem of a line, and the feed's position after the line.
 */
export type ParsedLine = {
  readonly position: FeedPosition
} & (
  { readonly fact: Fact; readonly digest: string } | { readonly issue: ValidationIssue; readonly kind: FactKind | null }
)

/** Outcome of a line: a new fact, a known fact, or a rejected line. */
export type LineOutcome =
  | { readonly status: 'applied' | 'skipped'; readonly kind: FactKind }
  | { readonly status: 'rejected'; readonly kind: FactKind | null; readonly issue: ValidationIssue }
