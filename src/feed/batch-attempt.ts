import type { Database } from '../database/database.ts'
import { isConflict } from '../database/errors.ts'
import type { Batch } from './batch.ts'
import type { ExpectedState } from './position/expected-state.ts'
import type { HandledPrefix, NewestTimes } from './position/handled-lines.ts'
import type { ParsedLine, LineOutcome } from './projector/line-outcome.ts'
import { type AppliedBatch, applyBatch } from './projector/projector.ts'
import { retryConflicts } from './retry.ts'
import { rejectedLines } from './rejects/rejected-lines.ts'
import type { Rejects } from './rejects/rejects.ts'

/** Options of {@link createBatchAttempt}. */
export interface BatchAttemptOptions {
  readonly database: Database
  readonly rejects: Rejects | undefined
  /** Name of the feed. */
  readonly feed: string
  /** Whether its source is read as it grows. */
  readonly isFollowed: boolean
  readonly expected: ExpectedState
  /** The last line that was counted, and set aside if bad, before the source was reopened. */
  readonly countedUpTo: number
  /** Outcomes of lines that writers of a failed round have committed or set aside, by index. */
  readonly ofRound: readonly (LineOutcome | undefined)[]
  /** Clock in Unix seconds, read at each attempt; undefined where the times of facts are not compared with one. */
  readonly nowSeconds: (() => number) | undefined
  /** The prefix of the source that earlier runs have handled; undefined where none is known. */
  readonly handledPrefix: HandledPrefix | undefined
  /** Times of the newest known facts of vaults in the prefix, before the batch. */
  readonly newestRead: NewestTimes
}

/**
 * Returns a function that applies the same batch at each attempt, and repeats it after conflicts with other writers. A commit
 * whose response was lost is detected by the next attempt. A line that was set aside remains bad, in the next attempt and after
 * a conflict: it may be valid since a commit of this or of another writer, but would be newer than facts that follow in the feed.
 *
 * So the outcomes of an attempt depend on those of earlier work on the same lines: of a round (`ofRound`), of the last attempt
 * whose commit may have succeeded (`unconfirmed`), and, for lines that were set aside, of all attempts (`batch`).
 */
export function createBatchAttempt(
  { database, rejects, feed, countedUpTo, ofRound, ...options }: BatchAttemptOptions,
  { lines, parsed }: Batch,
): () => Promise<AppliedBatch> {
  /** Outcomes of the last attempt whose commit was sent, and neither confirmed nor rolled back. */
  let unconfirmed: readonly LineOutcome[] | undefined
  /** The lines, with those that were set aside as bad. */
  let batch = withRejected(parsed, ofRound)
  const applyOnce = async (): Promise<AppliedBatch> => {
    /** Outcomes of this attempt, once its commit is about to be sent. */
    let sent: readonly LineOutcome[] | undefined
    const beforeCommit = async (outcomes: readonly LineOutcome[]): Promise<void> => {
      await rejects?.write(rejectedLines(lines, outcomes).filter(({ line }) => line.number > countedUpTo))
      sent = outcomesWith(unconfirmed, outcomes)
    }
    try {
      const setAsideBad = rejects !== undefined
      const result = await applyBatch(database, feed, batch, { ...options, setAsideBad, beforeCommit })
      const outcomes = outcomesWith(unconfirmed, result.outcomes)
      return { ...result, outcomes: outcomes.map((outcome, at) => ofThisRun(outcome, ofRound[at])) }
    } catch (error) {
      // A conflict has rolled the attempt back.
      if (!isConflict(error)) unconfirmed = sent ?? unconfirmed
      if (rejects !== undefined && sent !== undefined) batch = withRejected(batch, sent)
      throw error
    }
  }
  return () => retryConflicts(applyOnce)
}

/**
 * Returns the outcomes of a batch, after an attempt whose commit was not confirmed. Where every fact that it applied is known now,
 * and none that it rejected was applied now, it was committed: then its outcomes count. Lines that it has not reached, from one that
 * waited for the right clock on, keep their own.
 * @param unconfirmed outcomes of that attempt; undefined where there is none
 * @param outcomes of the present attempt
 */
function outcomesWith(
  unconfirmed: readonly LineOutcome[] | undefined,
  outcomes: readonly LineOutcome[],
): readonly LineOutcome[] {
  const wasCommitted = unconfirmed?.every(({ status }, index) => {
    const now = outcomes[index]?.status
    if (status === 'applied') return now === 'skipped'
    return status !== 'rejected' || now !== 'applied'
  })
  if (unconfirmed === undefined || wasCommitted !== true) return outcomes
  return outcomes.map((outcome, at) => unconfirmed[at] ?? outcome)
}

/** Returns the lines of a batch with the problems of those that were set aside in place of their facts. */
function withRejected(
  lines: readonly ParsedLine[],
  outcomes: readonly (LineOutcome | undefined)[],
): readonly ParsedLine[] {
  return lines.map((line, at) => {
    const outcome = outcomes[at]
    if (outcome?.status !== 'rejected') return line
    return { position: line.position, kind: outcome.kind, issue: outcome.issue }
  })
}

/** Returns the outcome of a line: `applied` where the fact is known because another writer of the run applied it. */
function ofThisRun(outcome: LineOutcome, ofRound: LineOutcome | undefined): LineOutcome {
  return outcome.status === 'skipped' && ofRound?.status === 'applied' ? ofRound : outcome
}
