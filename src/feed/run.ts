import {
  type FeedPosition,
  isSamePosition,
  type LockedPosition,
  offsetOf,
  trustedReadUntil,
} from '../database/write/feed.ts'
import { Checkpoints } from './checkpoints.ts'
import { UnrepeatableFeed } from './errors.ts'
import { type ExpectedState, isUncovered } from './position/expected-state.ts'
import type { ParsedLine, LineOutcome } from './projector/line-outcome.ts'
import type { Line } from './reading/lines.ts'
import type { Source } from './reading/source.ts'
import { emptySummary, type Summary } from './summary.ts'

/** State of a run with an open source. */
export interface Run {
  readonly source: Source
  readonly summary: Summary
  readonly checkpoints: Checkpoints
  /** The last line that was counted, and set aside if bad, before the source was reopened. */
  readonly countedUpTo: number
  /** Whether the source is the one that the run started with. */
  readonly isFirstFile: boolean
  expected: ExpectedState
  /** Number of the last line of the source that this run applied, skipped or set aside, and its end in bytes of the decompressed feed. */
  lastLine: number
  lastByte: number
  /** Times of the newest known facts of vaults, in Unix seconds: of the lines that earlier runs have handled, while these are read. */
  readonly newestRead: Map<string, number>
}

/** Returns the state of a run that has read nothing yet. */
export function newRun(source: Source): Run {
  const checkpoints = new Checkpoints()
  return { ...beginningOf(source), summary: emptySummary(), checkpoints, countedUpTo: 0, isFirstFile: true }
}

/** Returns the state of a run at the beginning of a source. */
export function beginningOf(source: Source): Omit<Run, 'summary' | 'checkpoints' | 'countedUpTo' | 'isFirstFile'> {
  const { startsAfter, start } = source
  return {
    source,
    expected: { startsAfter, lastPosition: startsAfter, version: null },
    lastLine: start.line,
    lastByte: start.byte ?? 0,
    newestRead: new Map(),
  }
}

/** Records the known facts of a batch, while the lines are read that earlier runs have handled. */
export function recordNewest(run: Run, batch: readonly ParsedLine[], outcomes: readonly LineOutcome[]): void {
  const end = run.source.handledPrefix?.bytes ?? 0
  for (const [at, { status }] of outcomes.entries()) {
    const line = batch[at]
    if (line === undefined || !('fact' in line) || !('vault' in line.fact)) continue
    if (offsetOf(line.position) > end) return run.newestRead.clear()
    const { vault, ts } = line.fact
    if (status !== 'rejected') run.newestRead.set(vault, Math.max(ts, run.newestRead.get(vault) ?? 0))
  }
}

/** Records the last line that this run applied, skipped or set aside. */
export function moveTo(run: Run, { number, endByte }: Line): void {
  run.lastLine = number
  run.lastByte = endByte
}

/** Options of {@link reopenRun}, as those of the run. */
interface ReopenOptions {
  readonly onReopen?: (stored: FeedPosition | null) => void
  readonly nowSeconds?: () => number
}

/**
 * Reopens a source at the stored position, and resets the counts to the checkpoint there. Without one the counts remain,
 * and repeated lines are counted twice, unless all lines are repeated.
 */
export async function reopenRun(
  { onReopen, nowSeconds }: ReopenOptions,
  { source, summary, checkpoints, isFirstFile, expected, lastLine }: Run,
  stored: LockedPosition | null,
): Promise<Run> {
  if (source.reopen === undefined) throw new UnrepeatableFeed(source.name)
  onReopen?.(stored)
  // The stored position proves the lines before it only where this run has not tried set-aside lines again there.
  const isInHandledPrefix = stored !== null && offsetOf(stored) <= (source.handledPrefix?.bytes ?? 0)
  const isUnproved = isInHandledPrefix || isUncovered(expected) || isSamePosition(stored, expected.lastPosition ?? null)
  // Another run may have moved it past the lines of this one.
  const mayLack = stored !== null && (isUnproved || stored.line > lastLine)
  // A run that knows no facts yet has none to lose.
  const readFrom = expected.version !== null && mayLack ? 'beginning' : 'stored position'
  const { readUntil = null } = stored ?? {}
  const proven = readUntil === null || nowSeconds === undefined ? readUntil : trustedReadUntil(readUntil, nowSeconds())
  const reopenedSource = await source.reopen(stored && { ...stored, readUntil: proven }, readFrom)
  const fresh = isFirstFile && reopenedSource.start.line === 0 ? { line: 0, summary: emptySummary() } : null
  const checkpoint = checkpoints.backTo(stored) ?? fresh
  return {
    ...beginningOf(reopenedSource),
    summary: checkpoint?.summary ?? summary,
    checkpoints,
    // In a file that no longer contains the applied lines, the changed lines were neither counted nor set aside.
    countedUpTo: reopenedSource.containsApplied === false ? 0 : (checkpoint?.line ?? 0),
    isFirstFile,
  }
}
