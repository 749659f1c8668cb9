import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Transaction } from '../../database/database.ts'
import { type FeedPosition, readNewestFact } from '../../database/write/feed.ts'
import { DomainError } from '../../domain/errors.ts'
import { ClockBehind } from '../errors.ts'
import { aheadOfClock, isClockBehind } from '../fact/clock.ts'
import type { BatchState } from './changes.ts'
import type { BatchLine, LineOutcome } from './line-outcome.ts'
import { Projection } from './projection.ts'
import { saveSettledPoints } from './save-changes.ts'

/** Lines folded into changes. */
export interface ProjectedLines {
  readonly projection: Projection
  /** Outcome of each processed line, in order. */
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
}

/** Lines that are projected before their points are written and the event loop runs again. */
const linesPerTurn = 500

/**
 * Folds lines into changes of the state, up to the first bad line unless bad lines are skipped. Writes settled points in
 * between, so that the database stores them while further lines are projected.
 * @throws {ClockBehind} when a new fact is ahead of the clock, and that is known to be wrong
 */
export async function project(
  transaction: Transaction,
  state: BatchState,
  batch: readonly BatchLine[],
  { skipBad, clockSeconds }: BadLineRules,
): Promise<ProjectedLines> {
  const projection = new Projection(state)
  const outcomes: LineOutcome[] = []
  let position: FeedPosition | undefined
  for (const line of batch) {
    if (outcomes.length > 0 && outcomes.length % linesPerTurn === 0) {
      saveSettledPoints(transaction, projection)
      await nextIteration()
    }
    const outcome = outcomeOf(projection, line, clockSeconds)
    outcomes.push(outcome)
    if (outcome.status === 'rejected' && !skipBad) break
    position = line.position
  }
  if (clockSeconds !== undefined) await requireRightClock(transaction, batch, outcomes, clockSeconds)
  return { projection, outcomes, position }
}

function outcomeOf(projection: Projection, line: BatchLine, clockSeconds: number | undefined): LineOutcome {
  if ('issue' in line) return { status: 'rejected', kind: line.kind, issue: line.issue }
  const { fact, digest } = line
  const issue = clockSeconds === undefined ? null : aheadOfClock(fact, clockSeconds)
  try {
    if (issue !== null && !projection.isKnown(fact, digest)) return { status: 'rejected', kind: fact.kind, issue }
    return { status: projection.apply(fact, digest) ? 'applied' : 'skipped', kind: fact.kind }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return { status: 'rejected', kind: fact.kind, issue: { key: error.key, reason: error.message } }
  }
}

/**
 * Verifies that the clock is not known to be wrong where a fact was rejected because it is ahead of it.
 * @throws {ClockBehind} when the clock is wrong, or was wrong when the newest fact was applied
 */
async function requireRightClock(
  transaction: Transaction,
  batch: readonly BatchLine[],
  outcomes: readonly LineOutcome[],
  clockSeconds: number,
): Promise<void> {
  const rejected = batch.filter((_, at) => outcomes[at]?.status === 'rejected')
  const line = rejected.find((one) => 'fact' in one && aheadOfClock(one.fact, clockSeconds) !== null)
  if (line === undefined || !('fact' in line)) return
  const newestSeconds = await readNewestFact(transaction)
  if (!isClockBehind(clockSeconds, newestSeconds)) return
  throw new ClockBehind(line.position.line, line.fact.ts, clockSeconds, newestSeconds)
}
