import type { FeedPosition } from '../../database/write/feed.ts'
import type { ValidationIssue } from '../errors.ts'
import type { Fact, FactKind } from '../fact/fact.ts'

/** A checked fact, or what is wrong with it, and how far its feed is with it. */
export type BatchLine = { readonly position: FeedPosition } & (
  { readonly fact: Fact } | { readonly flaw: ValidationIssue; readonly kind: FactKind | null }
)

/** What became of a line. */
export type LineOutcome =
  | { readonly fate: 'applied' | 'skipped'; readonly kind: FactKind }
  | { readonly fate: 'rejected'; readonly kind: FactKind | null; readonly flaw: ValidationIssue }
