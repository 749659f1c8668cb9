import type { Database } from '../database/database.ts'
import type { FeedPosition } from '../database/write/feed.ts'
import { type Batch, parseBatch } from './batch.ts'
import { createBatchAttempt } from './batch-attempt.ts'
import { beginningOf, moveTo, newRun, recordNewest, reopenRun, type Run } from './run.ts'
import { BadFact } from './errors.ts'
import { applyRound } from './jobs/round.ts'
import type { Writer } from './jobs/writer.ts'
import type { LineOutcome } from './projector/line-outcome.ts'
import type { Line } from './reading/lines.ts'
import { type OutageObserver, retryDuringOutage } from './retry.ts'
import { CommitsLost, isUncovered, knownPosition } from './position/expected-state.ts'
import { readVerifiedVaults } from './position/verified-vaults.ts'
import { checkHourly, requireApplied } from './position/verified-position.ts'
import { createReadUntilRecorder } from './read-until.ts'
import { rejectedLines } from './rejects/rejected-lines.ts'
import type { Rejects } from './rejects/rejects.ts'
import { type ReadSegment, readSegments } from './read-segments.ts'
import { clockOf, type Source } from './reading/source.ts'
import { countOutcomes, type Summary } from './summary.ts'

/** Options of {@link ingest}. */
export interface IngestOptions {
  readonly database: Database
  readonly source: Source
  /** Receives rejected lines; without it the first one ends the run. */
  readonly rejects?: Rejects
  /** Called after each batch, also one that ends with a bad line, with its end in bytes of the decompressed feed. */
  readonly onBatch?: (summary: Summary, endByte: number) => void
  /** Observes outages of the database, after which the run continues; without it an outage ends the run. */
  readonly outageObserver?: OutageObserver
  /**
   * Clock in Unix seconds. A fact more than a day ahead of it is rejected, or waits while the clock is known to be wrong, and the
   * end of a source is recorded by it. Without it neither happens.
   */
  readonly nowSeconds?: () => number
  /** Writers that apply the parts of a round in parallel; without them the run applies all lines. */
  readonly writers?: readonly Writer[]
  /** Called when another file has replaced the one that was read. */
  readonly onNextFile?: () => void
  /** Called when the database has lost the commits after a position, whose facts are applied again. */
  readonly onReopen?: (stored: FeedPosition | null) => void
  /** Ends the run after the current batch, or during a wait. */
  readonly signal?: AbortSignal
}

/**
 * Applies a feed in batches of one transaction each, and closes its source. Where the database has lost batches, for
 * example by a failover, the source is reopened at the position of the database. Files that replace each other are one
 * feed: each starts where the previous one ended. A source that can leave out the vault of a bad fact continues without it.
 * @throws {BadFact} at the first other bad line unless bad lines are set aside; everything before it is committed
 * @throws {UnreadableFeed} when the source ends prematurely or cannot be read
 * @throws {UnrepeatableFeed} when the database has lost facts of a source that cannot be read again
 * @throws {UnwritableRejects} when rejected lines cannot be written; their batch is not applied
 * @throws {ClockBehind} when a fact is ahead of a clock that is known to be wrong, without an observer of outages; everything
 *   before it is committed
 */
export async function ingest(options: IngestOptions): Promise<Summary> {
  const { database, source, nowSeconds } = options
  let run = newRun(source)
  const line = (): number => knownPosition(run.expected, run.source.handledPrefix)?.line ?? run.source.start.line
  const check = (): Promise<void> => requireApplied(database, run)
  const recorder = nowSeconds && createReadUntilRecorder({ ...options, feed: source.name, line, nowSeconds, check })
  const stopChecks = checkHourly(check)
  try {
    for (let next: Run | null = run; next !== null; next = await ingestSource(options, run)) {
      run = next
      run.source.onEnd?.(async (end) => recorder?.recordEnd(end))
      run.source.useAppliedVaults?.((addresses) => readVerifiedVaults(options, run, addresses))
    }
    return run.summary
  } finally {
    stopChecks()
    await run.source.close?.()
    await recorder?.settled()
  }
}

/**
 * Applies a source to its end.
 * @returns the run with the source to read next; null where there is none
 */
async function ingestSource(options: IngestOptions, run: Run): Promise<Run | null> {
  try {
    await readAndApply(options, run)
    // Checks here because no further batch would detect commits that were lost since the last one.
    const isOver = run.source.next === undefined && options.signal?.aborted !== true
    if (isOver)
      await retryDuringOutage(() => requireApplied(options.database, run), options.outageObserver, options.signal)
  } catch (error) {
    if (error instanceof CommitsLost) return await reopenRun(options, run, error.stored)
    const { reopenWithout } = run.source
    if (!(error instanceof BadFact) || error.vault === null || reopenWithout === undefined) throw error
    const { vault, key, reason } = error
    const why = `${key ?? 'it'} ${reason}`
    // Null where the run is aborted during an outage.
    const source = await retryDuringOutage(() => reopenWithout(vault, why), options.outageObserver, options.signal)
    return source && { ...run, ...beginningOf(source), countedUpTo: 0 }
  }
  const source = options.signal?.aborted === true ? null : await run.source.next?.(run.expected.lastPosition ?? null)
  if (source == null) return null
  if (source.isReadAgain !== true) options.onNextFile?.()
  // The next file continues the feed, so lost commits of the previous file are detected, too.
  const { expected, hasAppliedUncovered } = run
  return { ...run, ...beginningOf(source), countedUpTo: 0, isFirstFile: false, expected, hasAppliedUncovered }
}

/** Applies the segments of a source, one after the other: those with parts in a round, and the others batch by batch. */
async function readAndApply(options: IngestOptions, run: Run): Promise<void> {
  const { writers = [], signal } = options
  const parse = (lines: readonly Line[]): Promise<Batch> => parseBatch(run.source, lines, 0)
  for await (const segment of readSegments(run.source, writers.length, parse)) {
    if (signal?.aborted === true) return
    const { lines, parts } = segment
    const ofRound =
      parts === null || beginsInHandledPrefix(run, lines)
        ? []
        : await withCheckpoint(options, run, applySegmentByWriters(options, run, lines, parts))
    // A failed round is applied again: what its writers have committed is known by now, and counted by its outcomes there.
    if (ofRound !== 'all') await applySegment(options, run, segment, ofRound)
  }
}

/** Returns whether lines begin in the handled prefix. Writers know no facts of earlier rounds, which those lines are compared with. */
function beginsInHandledPrefix({ source: { handledPrefix } }: Run, [first]: readonly Line[]): boolean {
  if (handledPrefix === undefined || handledPrefix.coversFile || first === undefined) return false
  return first.endByte <= handledPrefix.bytes
}

/**
 * Applies a segment batch by batch, each while the next one is parsed.
 * @param ofRound outcomes of lines that writers of a failed round have committed or set aside, by index
 */
async function applySegment(
  options: IngestOptions,
  run: Run,
  { lines, first }: ReadSegment,
  ofRound: readonly (LineOutcome | undefined)[],
): Promise<void> {
  let next = first ?? parseBatch(run.source, lines, 0)
  for (let [from, to] = [0, 0]; from < lines.length; from = to) {
    const batch = await next
    if (options.signal?.aborted === true) return
    to = from + batch.lines.length
    next = parseBatch(run.source, lines, to)
    for (let rest: Batch | null = batch; rest !== null;) {
      const ofRest = ofRound.slice(to - rest.lines.length, to)
      rest = await withCheckpoint(options, run, applyParsed(options, run, rest, ofRest))
    }
  }
}

/** Adds a checkpoint when lines are applied, and reports the batch, also where a bad line ends the run: then without one. */
async function withCheckpoint<Result>({ onBatch }: IngestOptions, run: Run, apply: Promise<Result>): Promise<Result> {
  const { summary, checkpoints } = run
  try {
    const result = await apply
    if (isUncovered(run.expected)) run.hasAppliedUncovered = true
    checkpoints.add(run.expected.lastPosition, { line: run.lastLine, summary })
    return result
  } finally {
    onBatch?.(summary, run.lastByte)
  }
}

/**
 * Applies lines by several writers.
 * @returns `all` where all are committed; else the outcomes of those that are, by index, and the run is unchanged: the caller
 *   applies all lines again
 */
async function applySegmentByWriters(
  options: IngestOptions,
  run: Run,
  lines: readonly Line[],
  parts: NonNullable<ReadSegment['parts']>,
): Promise<'all' | readonly (LineOutcome | undefined)[]> {
  const { expected, outcomes } = await applyRound({ ...options, ...run }, lines, parts)
  if (expected === null) return outcomes
  run.expected = expected
  countOutcomes(run, lines, outcomes)
  moveTo(run, lines.at(-1) as Line)
  return 'all'
}

/**
 * Applies a batch.
 * @returns the lines that are not applied yet: their first one may have to wait for the right clock; null where there are none
 */
async function applyParsed(
  options: IngestOptions,
  run: Run,
  batch: Batch,
  ofRound: readonly (LineOutcome | undefined)[],
): Promise<Batch | null> {
  const { lines, parsed } = batch
  const { database, rejects, outageObserver, signal } = options
  const { source, expected, countedUpTo, newestRead } = run
  const ofRun = { feed: source.name, handledPrefix: source.handledPrefix, expected, countedUpTo, newestRead, ofRound }
  const ofSource = { isFollowed: source.onEnd !== undefined, nowSeconds: clockOf(source, options.nowSeconds) }
  const attempt = createBatchAttempt({ ...ofRun, ...ofSource, database, rejects }, batch)
  const result = await retryDuringOutage(attempt, outageObserver, signal)
  if (result === null) return null
  const { outcomes, lastPosition, version } = result
  run.expected = { ...run.expected, lastPosition, version: version ?? run.expected.version }
  countOutcomes(run, lines, outcomes)
  recordNewest(run, parsed, outcomes)
  const done = outcomes.length
  if (done > 0) moveTo(run, lines[done - 1] as Line)
  const [bad] = rejectedLines(lines, outcomes)
  if (bad !== undefined && rejects === undefined) {
    const file = (await source.readName?.()) ?? source.name
    throw new BadFact(file, bad.line.number, bad.issue.key, bad.issue.reason, vaultOf(bad.line))
  }
  return done < lines.length ? { lines: lines.slice(done), parsed: parsed.slice(done) } : null
}

/** Returns the vault of a fact of a producer in this process; null where the fact is about none, or a line of text. */
function vaultOf({ fact }: Line): string | null {
  return fact !== undefined && 'vault' in fact ? fact.vault : null
}
