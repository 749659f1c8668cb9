import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Transaction } from '../../database/database.ts'
import { type FeedPosition, readNewestFact } from '../../database/write/feed.ts'
import { DomainError } from '../../domain/errors.ts'
import { ClockBehind, type ValidationIssue } from '../errors.ts'
import { aheadOfClock, isClockBehind } from '../fact/clock.ts'
import type { BatchState } from './changes.ts'
import type { BatchLine, LineOutcome } from './line-outcome.ts'
import { Projection } from './projection.ts'
import { saveSettledPoints } from './save-changes.ts'

/** Lines folded into changes. */
export interface ProjectedLines {
  readonly projection: Projection
  /** Outcome of each handled line, in order. */
  readonly outcomes: readonly LineOutcome[]
  /** Position after the last line that was applied, skipped or set aside; undefined where there is none. */
  readonly position: FeedPosition | undefined
}

/** Which lines are bad, and whether one is the last. */
export interface BadLineRules {
  /** Continues after a bad line; without it the first one is the last. */
  readonly skipBad: boolean
  /** Clock in Unix seconds; undefined where the times of facts are not compared with one. */
  readonly clockSeconds: number | undefined
  /** Whether the lines before one that waits for the right clock are applied without it; else none of the batch is. */
  readonly isDivisible: boolean
}

/** Number of lines that are projected before their points are written and the event loop runs again. */
const projectedAtOnce = 500

/**
 * Folds lines into changes of the state, up to the first bad line unless bad lines are skipped, and before one that waits for the
 * right clock. Writes settled points in between, so that the database stores them while further lines are projected.
 * @throws {ClockBehind} when a new fact is ahead of the clock, which is known to be wrong, and no line before it can be applied
 */
export async function project(
  transaction: Transaction,
  state: BatchState,
  batch: readonly BatchLine[],
  { skipBad, clockSeconds, isDivisible }: BadLineRules,
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
    const ahead = clockIssue(line, clockSeconds)
    const outcome = applyLine(projection, line, ahead)
    const behind = ahead !== null && outcome.status === 'rejected' ? await clockBehind(line) : null
    if (behind !== null && isDivisible && outcomes.length > 0) break
    if (behind !== null) throw behind
    outcomes.push(outcome)
    if (outcome.status === 'rejected' && !skipBad) break
    position = line.position
  }
  return { projection, outcomes, position }
}

/** Returns the problem of a fact that is ahead of the clock; null where it is not, or is not compared with one. */
function clockIssue(line: BatchLine, clockSeconds: number | undefined): ValidationIssue | null {
  const isCompared = clockSeconds !== undefined && 'fact' in line && line.wasHandled !== true
  return isCompared ? aheadOfClock(line.fact, clockSeconds) : null
}

/**
 * Applies a line to the projection, unless it is bad, and returns its outcome.
 * @param ahead the problem of a fact that is ahead of the clock, and bad unless it is known; else null
 */
function applyLine(projection: Projection, line: BatchLine, ahead: ValidationIssue | null): LineOutcome {
  if ('issue' in line) return { status: 'rejected', kind: line.kind, issue: line.issue }
  const { fact, digest } = line
  const issue = line.wasHandled === true ? setAsideBefore : ahead
  try {
    if (issue !== null && !projection.isKnown(fact, digest)) return { status: 'rejected', kind: fact.kind, issue }
    return { status: projection.apply(fact, digest) ? 'applied' : 'skipped', kind: fact.kind }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return { status: 'rejected', kind: fact.kind, issue: { key: error.key, reason: error.message } }
  }
}

/** The problem of a fact that is not known, where an earlier run of the feed has handled its line. */
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
): (line: BatchLine) => Promise<ClockBehind | null> {
  let newest: Promise<number | null> | undefined
  return async (line) => {
    if (clockSeconds === undefined || !('fact' in line)) return null
    const newestSeconds = await (newest ??= readNewestFact(transaction))
    if (!isClockBehind(clockSeconds, newestSeconds)) return null
    return new ClockBehind(line.position.line, line.fact.ts, clockSeconds, newestSeconds)
  }
}
