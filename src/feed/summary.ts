import type { FactKind } from './fact/fact.ts'
import type { LineOutcome } from './projector/line-outcome.ts'
import type { Line } from './reading/lines.ts'

/** Number of lines by kind of fact; lines that are not facts have no kind. */
export type KindCounts = Partial<Record<FactKind | 'unreadable', number>>

/** Result of a run: how many lines were applied, skipped as known, and rejected. */
export interface Summary {
  readonly applied: KindCounts
  readonly skipped: KindCounts
  readonly rejected: KindCounts
}

/** Returns a summary without any lines. */
export function emptySummary(): Summary {
  return { applied: {}, skipped: {}, rejected: {} }
}

/**
 * Counts outcomes of lines.
 * @param countedUpTo the last line that was counted before
 * @param outcomes by index of the line; undefined for a line without one
 */
export function countOutcomes(
  { summary, countedUpTo }: { readonly summary: Summary; readonly countedUpTo: number },
  lines: readonly Pick<Line, 'number'>[],
  outcomes: readonly (LineOutcome | undefined)[],
): void {
  for (const [at, outcome] of outcomes.entries()) {
    if (outcome === undefined || (lines[at]?.number ?? 0) <= countedUpTo) continue
    const counts = summary[outcome.status]
    const kind = outcome.kind ?? 'unreadable'
    counts[kind] = (counts[kind] ?? 0) + 1
  }
}
