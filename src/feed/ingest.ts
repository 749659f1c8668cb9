import type { Database } from '../database/database.ts'
import type { FeedPosition } from '../database/write/feed.ts'
import { type Batch, batchLines, parseBatch } from './batch.ts'
import { Checkpoints, emptySummary, type Summary } from './checkpoints.ts'
import { BadFact, UnrepeatableFeed } from './errors.ts'
import { type Line, readLines } from './reading/lines.ts'
import { type OutageObserver, retryDuringOutage } from './retry.ts'
import { after, type Before, FeedMoved } from './feed-position.ts'
import type { LineOutcome } from './projector/line-outcome.ts'
import { type AppliedBatch, applyBatch, requireApplied } from './projector/projector.ts'
import { recordReach } from './reach.ts'
import type { Rejected, Rejects } from './rejects.ts'
import type { Source } from './reading/source.ts'

export interface IngestOptions {
  readonly database: Database
  readonly source: Source
  /** Where bad lines are set aside; without it the first one ends the run. */
  readonly rejects?: Rejects
  /** Is told after each batch, also after one that ends with a bad line: how many unpacked bytes its lines end at. */
  readonly onProgress?: (summary: Summary, bytesHandled: number) => void
  /** Waits while the database is out, and goes on with the batch in hand; without it, that ends the run. */
  readonly patience?: OutageObserver
  /**
   * The clock, in Unix seconds. A fact more than a day ahead of it is bad, and by it is written how far a source at its
   * end was read; without it none is bad for its time, and nothing is written of how far.
   */
  readonly nowSeconds?: () => number
  /** Is told that another file took the place of the one that was read. */
  readonly onNextFile?: () => void
  /** Is told that the database has lost what was committed after a position, which is applied again. */
  readonly onReopen?: (stored: FeedPosition | null) => void
  /** Ends the run at the next committed batch, or while it waits. */
  readonly signal?: AbortSignal
}

/**
 * Applies a feed, in batches of one transaction each. Where the database has lost some of them, as after a failover, the
 * source is opened again where the database is. Files that take each other's place are one feed: each begins where the
 * one before it ended. It closes the source.
 * @throws {BadFact} at the first bad line where none are set aside; everything before it is committed
 * @throws {UnreadableFeed} where its bytes end in the middle
 * @throws {UnrepeatableFeed} where the database has lost facts of a source that can be read but once
 * @throws {UnwritableRejects} where bad lines can't be set aside; their batch is not applied
 */
export async function ingest(options: IngestOptions): Promise<Summary> {
  const { database, source, nowSeconds } = options
  let run: Run = { summary: emptySummary(), countedAfter: 0, isFirstFile: true, ...beginningOf(source) }
  const line = (): number => run.before.seen?.line ?? run.source.start.line
  const check = (): Promise<void> => requireApplied(database, source.name, run.before)
  const reach = nowSeconds && recordReach({ database, feed: source.name, line, nowSeconds, check })
  const checkpoints = new Checkpoints()
  try {
    for (let next: Run | null = run; next !== null; next = await applied(options, run, checkpoints)) {
      run = next
      run.source.onEnd?.(async (end) => reach?.atEnd(end))
    }
    return run.summary
  } finally {
    await run.source.close?.()
    await reach?.settled()
  }
}

/** How far a run is with a source that was opened. */
interface Run {
  readonly source: Source
  readonly summary: Summary
  /** The last line that was counted, and set aside where it was bad, before the source was opened again. */
  readonly countedAfter: number
  /** Whether the source is the one that the run began with, and no other file took its place. */
  readonly isFirstFile: boolean
  before: Before
  /** The last line of the source that was handled. */
  handledLine: number
}

/**
 * Applies a source to its end.
 * @returns the run with what is to be read next, null where nothing is
 */
async function applied(options: IngestOptions, run: Run, checkpoints: Checkpoints): Promise<Run | null> {
  try {
    await applySource(options, run, checkpoints)
    // No batch comes that would notice what was lost since the last one.
    const check = (): Promise<void> => requireApplied(options.database, run.source.name, run.before)
    const isOver = run.source.next === undefined && options.signal?.aborted !== true
    if (isOver) await retryDuringOutage(check, options.patience, options.signal)
  } catch (error) {
    if (!(error instanceof FeedMoved)) throw error
    return await reopened(options, run, checkpoints, error.stored)
  }
  const source = options.signal?.aborted === true ? null : await run.source.next?.(run.before.seen ?? null)
  if (source == null) return null
  options.onNextFile?.()
  // What was applied last is compared across files: that another one is read is this run's own doing.
  return { ...run, ...beginningOf(source), countedAfter: 0, isFirstFile: false, before: run.before }
}

function beginningOf(source: Source): Pick<Run, 'source' | 'before' | 'handledLine'> {
  return { source, before: { seen: source.startsAfter, handled: [], applied: [] }, handledLine: source.start.line }
}

async function applySource(options: IngestOptions, run: Run, checkpoints: Checkpoints): Promise<void> {
  const { source, summary } = run
  const { nowSeconds, signal, onProgress } = options
  let bytesHandled = source.start.byte
  const onHandled = ({ number, endByte }: Line): void => {
    run.handledLine = number
    bytesHandled = endByte
  }
  for await (const lines of readLines(source.chunks, source.start)) {
    let next = parseBatch(source, nowSeconds, lines, 0)
    for (let from = 0; from < lines.length; from += batchLines) {
      const batch = await next
      if (signal?.aborted === true) return
      // The next batch is parsed while the database works on this one.
      next = parseBatch(source, nowSeconds, lines, from + batchLines)
      try {
        await applyLines(options, run, batch, onHandled)
        checkpoints.add(run.before.seen, {
          line: run.handledLine,
          summary,
          rejectBytes: options.rejects?.keptBytes ?? 0,
        })
      } finally {
        onProgress?.(summary, bytesHandled)
      }
    }
  }
}

/**
 * Opens a source again where the database is with it, and takes the run's counts and rejects back to there. Where the run
 * has no checkpoint there they stay, and lines that come again count again, unless all of them do.
 */
async function reopened(
  { rejects, onReopen }: IngestOptions,
  { source, summary, isFirstFile, before, handledLine }: Run,
  checkpoints: Checkpoints,
  stored: FeedPosition | null,
): Promise<Run> {
  if (source.reopen === undefined) throw new UnrepeatableFeed(source.name)
  onReopen?.(stored)
  // Where another run is ahead of one that has handled nothing, that is no reading of other contents.
  const again = await source.reopen(stored, before.handled.length === 0 ? Infinity : handledLine)
  const fresh = isFirstFile && again.start.line === 0 ? { line: 0, rejectBytes: 0, summary: emptySummary() } : null
  const checkpoint = checkpoints.backTo(stored) ?? fresh
  if (checkpoint !== null) await rejects?.backTo(checkpoint.rejectBytes)
  return {
    ...beginningOf(again),
    summary: checkpoint?.summary ?? summary,
    countedAfter: checkpoint?.line ?? 0,
    isFirstFile,
  }
}

async function applyLines(
  options: IngestOptions,
  run: Run,
  batch: Batch,
  onHandled: (last: Line) => void,
): Promise<void> {
  const { lines, candidates } = batch
  const { rejects, patience, signal } = options
  const applied = await retryDuringOutage(tries(options, run, batch), patience, signal)
  if (applied === null) return
  const { fates, seen } = applied
  rejects?.keep()
  run.before = after(run.before, seen, candidates, fates)
  for (const [at, { fate, kind }] of fates.entries()) {
    if ((lines[at]?.number ?? 0) <= run.countedAfter) continue
    const tally = run.summary[fate]
    tally[kind ?? 'unreadable'] = (tally[kind ?? 'unreadable'] ?? 0) + 1
  }
  const last = lines[fates.length - 1]
  if (last !== undefined) onHandled(last)
  const [bad] = rejectedLines(lines, fates)
  if (bad !== undefined && rejects === undefined) {
    throw new BadFact(run.source.name, bad.line.number, bad.flaw.key, bad.flaw.reason)
  }
}

/** Applies the same batch each time. A commit whose answer was lost is found out by the next time. */
function tries(
  { database, rejects }: IngestOptions,
  { source, before, countedAfter }: Run,
  { lines, candidates }: Batch,
): () => Promise<AppliedBatch> {
  let earlier: readonly LineOutcome[] | undefined
  return async () => {
    let reached: readonly LineOutcome[] | undefined
    const beforeCommit = async (fates: readonly LineOutcome[]): Promise<void> => {
      await rejects?.write(rejectedLines(lines, fates).filter(({ line }) => line.number > countedAfter))
      reached = settled(fates, earlier)
    }
    try {
      const skipBad = rejects !== undefined
      const applied = await applyBatch(database, source.name, candidates, { skipBad, beforeCommit, before })
      return { ...applied, fates: settled(applied.fates, earlier) }
    } catch (error) {
      earlier = reached ?? earlier
      throw error
    }
  }
}

/** What became of a batch: where everything that an earlier try applied is known now, that one was committed. */
function settled(fates: readonly LineOutcome[], earlier: readonly LineOutcome[] | undefined): readonly LineOutcome[] {
  const wasCommitted = earlier?.every(({ fate }, index) => fate !== 'applied' || fates[index]?.fate === 'skipped')
  return earlier !== undefined && wasCommitted === true ? earlier : fates
}

function rejectedLines(lines: readonly Line[], fates: readonly LineOutcome[]): Rejected[] {
  return fates.flatMap((fate, index) =>
    fate.fate === 'rejected' ? [{ line: lines[index] as Line, flaw: fate.flaw }] : [],
  )
}
