import type { ValidationIssue } from '../errors.ts'
import type { LineOutcome } from '../projector/line-outcome.ts'
import type { Line } from '../reading/lines.ts'

/** A rejected line with its problem. */
export interface Rejected {
  readonly line: Line
  readonly issue: ValidationIssue
}

/** Returns the lines that a batch rejected, with the problems. */
export function rejectedLines(lines: readonly Line[], outcomes: readonly LineOutcome[]): Rejected[] {
  return outcomes.flatMap((outcome, index) =>
    outcome.status === 'rejected' ? [{ line: lines[index] as Line, issue: outcome.issue }] : [],
  )
}
