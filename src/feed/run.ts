import {
  type FeedPosition,
  isSamePosition,
  type LockedPosition,
  offsetOf,
  trustedReadUntil,
} from '../database/write/feed.ts'
import { Checkpoints } from './checkpoints.ts'
import { UnrepeatableFeed } from './errors.ts'
import type { ExpectedState } from './position/expected-state.ts'
import type { ParsedLine, LineOutcome } from './projector/line-outcome.ts'
import type { Line } from './reading/lines.ts'
import type { ReopenFrom } from './reading/file-position.ts'
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
  /**
   * Whether it has applied facts that its position did not cover then. A failover may lose them and leave a position beyond them, which
   * another run has stored, also where a later position of this run covers them.
   */
  hasAppliedUncovered: boolean
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
    hasAppliedUncovered: false,
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
 * Reopens a source at the stored position, or its beginning, and resets the counts to the checkpoint there. Without one the counts
 * remain, and repeated lines are counted twice, unless all lines are repeated.
 */
export async function reopenRun(
  { onReopen, nowSeconds }: ReopenOptions,
  run: Run,
  stored: LockedPosition | null,
): Promise<Run> {
  const { source, summary, checkpoints, isFirstFile } = run
  if (source.reopen === undefined) throw new UnrepeatableFeed(source.name)
  onReopen?.(stored)
  const reopenedSource = await source.reopen(withTrustedEnd(stored, nowSeconds), reopenFrom(run, stored))
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

/**
 * Returns from where a source is read again after a failover: from the stored position, unless facts of this run may be lost that are
 * before it.
 */
function reopenFrom(
  { source, expected, hasAppliedUncovered, lastLine }: Run,
  stored: LockedPosition | null,
): ReopenFrom {
  // A run that knows no facts yet has none to lose. Without a position everything is read.
  if (expected.version === null || stored === null) return 'stored position'
  // It has tried lines again there that were set aside, without moving the position.
  const isInHandledPrefix = offsetOf(stored) <= (source.handledPrefix?.bytes ?? 0)
  // The position was not lost: another commit was.
  const isUnmoved = isSamePosition(stored, expected.lastPosition ?? null)
  // Another run may have moved it past the lines of this one.
  const isOfOtherRun = stored.line > lastLine
  return isInHandledPrefix || hasAppliedUncovered || isUnmoved || isOfOtherRun ? 'beginning' : 'stored position'
}

/** Returns a position with the time at which its feed was last read to its end, as far as the clock confirms it. */
function withTrustedEnd(stored: LockedPosition | null, nowSeconds: ReopenOptions['nowSeconds']): LockedPosition | null {
  if (stored?.readUntil == null || nowSeconds === undefined) return stored
  return { ...stored, readUntil: trustedReadUntil(stored.readUntil, nowSeconds()) }
}
