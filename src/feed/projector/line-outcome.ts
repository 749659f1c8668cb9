import type { FeedPosition } from '../../database/write/feed.ts'
import type { ValidationIssue } from '../errors.ts'
import type { Fact, FactKind } from '../fact/fact.ts'

/**
 * A validated fact or the problem of a line, with the feed's position after the line. A fact has a digest of its
 * contents; `issueIfNew` is a problem that rejects the fact only where it is new.
 */
export type BatchLine = { readonly position: FeedPosition } & (
  | { readonly fact: Fact; readonly digest: string; readonly issueIfNew?: ValidationIssue }
  | { readonly issue: ValidationIssue; readonly kind: FactKind | null }
)

/** Outcome of a line: a new fact, a known fact, or a rejected line. */
export type LineOutcome =
  | { readonly status: 'applied' | 'skipped'; readonly kind: FactKind }
  | { readonly status: 'rejected'; readonly kind: FactKind | null; readonly issue: ValidationIssue }
