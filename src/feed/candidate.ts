import type { FeedPosition } from '../database/write/feed.ts'
import type { Flaw } from './errors.ts'
import type { Fact, FactKind } from './fact.ts'

/** A checked fact, or what is wrong with it, and how far its feed is with it. */
export type Candidate = { readonly position: FeedPosition } & (
  { readonly fact: Fact } | { readonly flaw: Flaw; readonly kind: FactKind | null }
)

/** What became of a line. */
export type Fate =
  | { readonly fate: 'applied' | 'skipped'; readonly kind: FactKind }
  | { readonly fate: 'rejected'; readonly kind: FactKind | null; readonly flaw: Flaw }
