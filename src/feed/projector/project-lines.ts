import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Transaction } from '../../database/database.ts'
import { type FeedPosition, readNewestFact } from '../../database/write/feed.ts'
import { DomainError } from '../../domain/errors.ts'
import { ClockBehind, type ValidationIssue } from '../errors.ts'
import { aheadOfClock, isClockBehind } from '../fact/clock.ts'
import type { HandledLines } from '../position/handled-lines.ts'
import type { BatchState } from './changes.ts'
import type { ParsedLine, LineOutcome } from './line-outcome.ts'
import { Projection } from './projection.ts'
import { saveSettledPoints } from './save-changes.ts'

/** Lines folded into changes. */
export interface ProjectedLines {
  readonly projection: Projection
  /** Outcome of each line up to the last one that was applied, skipped or set aside, in order. */
  readonly outcomes: readonly LineOutcome[]
  /** Position after the last line that was applied, skipped or set aside; undefined where there is none. */
  readonly position: FeedPosition | undefined
}

/** Which lines are bad, and whether one is the last. */
export interface BadLineRules {
  /** Sets bad lines aside, and continues; without it the first one is the last. */
  readonly setAsideBad: boolean
  /** Clock in Unix seconds; undefined where the times of facts are not compared with one. */
  readonly clockSeconds: number | undefined
  /** Whether the lines before one that waits for the right clock are applied without it; else none of the batch is. */
  readonly isDivisible: boolean
  /** The lines that were handled before; null where none was. */
  readonly handledLines: HandledLines | null
}

/** Number of lines that are projected before their points are written and the event loop runs again. */
const projectedAtOnce = 500

/**
 * Folds lines into changes of the state, up to the first bad line unless bad lines are set aside, and before one that waits for the
 * right clock. Writes settled points in between, so that the database stores them while further lines are projected.
 * @throws {ClockBehind} when a new fact is ahead of the clock, which is known to be wrong, and no line before it can be applied
 */
export async function project(
  transaction: Transaction,
  state: BatchState,
  batch: readonly ParsedLine[],
  { setAsideBad, clockSeconds, isDivisible, handledLines }: BadLineRules,
): Promise<ProjectedLines> {
  const projection = new Projection(state)
  const clockBehind = wrongClockFinder(transaction, clockSeconds)
  const outcomes: LineOutcome[] = []
  let position: FeedPosition | undefined
  for (const line of batch) {
    if (outcomes.length > 0 && outcomes.length % projectedAtOnce === 0) {
      saveSettledPoints(transaction, projection)
      await nextIteration()
    }
    const ahead = 'fact' in line && clockSeconds !== undefined ? aheadOfClock(line.fact, clockSeconds) : null
    const ofHandled = handledLines?.has(line.position) === true ? handledLines : null
    const outcome =
      ofHandled === null ? applyLine(projection, line, ahead) : applyHandled(projection, line, ahead, ofHandled)
    // An unknown fact among the handled lines was set aside before: it waits for no clock.
    const isNewAhead = ahead !== null && ofHandled === null && outcome.status === 'rejected'
    const behind = isNewAhead ? await clockBehind(line) : null
    if (behind !== null && isDivisible && outcomes.length > 0) break
    if (behind !== null) throw behind
    outcomes.push(outcome)
    if (outcome.status === 'rejected' && !setAsideBad) break
    position = line.position
  }
  return { projection, outcomes, position }
}

/** Applies a line that was handled before, unless its fact remains set aside, and returns its outcome. */
function applyHandled(
  projection: Projection,
  line: ParsedLine,
  ahead: ValidationIssue | null,
  handledLines: HandledLines,
): LineOutcome {
  if ('issue' in line) return applyLine(projection, line, null)
  const { fact } = line
  const vault = 'vault' in fact ? projection.state.vaults.get(fact.vault) : undefined
  const remainsSetAside = ahead !== null || handledLines.remainsSetAside(fact, vault)
  const outcome = applyLine(projection, line, remainsSetAside ? setAsideBefore : null)
  if (outcome.status !== 'rejected') handledLines.record(fact)
  return outcome
}

/**
 * Applies a line to the projection, unless it is bad, and returns its outcome.
 * @param issue the problem of a fact that is bad unless it is known, such as one that is ahead of the clock; else null
 */
function applyLine(projection: Projection, line: ParsedLine, issue: ValidationIssue | null): LineOutcome {
  if ('issue' in line) return { status: 'rejected', kind: line.kind, issue: line.issue }
  const { fact, digest } = line
  try {
    if (issue !== null && !projection.isKnown(fact, digest)) return { status: 'rejected', kind: fact.kind, issue }
    return { status: projection.apply(fact, digest) ? 'applied' : 'skipped', kind: fact.kind }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return { status: 'rejected', kind: fact.kind, issue: { key: error.key, reason: error.message } }
  }
}

/** The problem of a fact that remains set aside. */
const setAsideBefore: ValidationIssue = {
  key: null,
  reason: 'was set aside by an earlier run, and is tried again once all lines of the feed are handled',
}

/**
 * Returns a function that finds out whether a clock that a fact is ahead of is known to be wrong: it is now, or was when the newest
 * fact was applied.
 */
function wrongClockFinder(
  transaction: Transaction,
  clockSeconds: number | undefined,
): (line: ParsedLine) => Promise<ClockBehind | null> {
  let newest: Promise<number | null> | undefined
  return async (line) => {
    if (clockSeconds === undefined || !('fact' in line)) return null
    const newestSeconds = await (newest ??= readNewestFact(transaction))
    if (!isClockBehind(clockSeconds, newestSeconds)) return null
    return new ClockBehind(line.position.line, line.fact.ts, clockSeconds, newestSeconds)
  }
}
