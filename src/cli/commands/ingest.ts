import path from 'node:path'
import type { Readable } from 'node:stream'
import { SingleBar } from 'cli-progress'
import { untilCancelled } from '../../database/cancellation.ts'
import type { Database } from '../../database/database.ts'
import { type FeedPosition, lockFeedPosition } from '../../database/write/feed.ts'
import type { KindCounts, Summary } from '../../feed/summary.ts'
import { ingest } from '../../feed/ingest.ts'
import type { Writer } from '../../feed/jobs/writer.ts'
import { rejectsFile } from '../../feed/rejects/rejects.ts'
import { retryDuringOutage } from '../../feed/retry.ts'
import { fileSource, inFullChunks, inputSource, type ByteSource } from '../../feed/reading/source.ts'
import { closeSeconds, untilStopped, withinSeconds } from './close.ts'
import { factsPerSecond, type ProgressSample, progressSample, timeLeft, total } from '../progress.ts'

/** Options of {@link ingestCommand}. */
export interface IngestCommand {
  readonly database: Database
  readonly feed: string
  readonly skipBad: boolean
  readonly input: Readable
  readonly output: NodeJS.WriteStream
  readonly signal: AbortSignal
  readonly nowSeconds: () => number
  /** Starts writers that apply the feed concurrently; without them this thread applies it. */
  readonly startWriters?: () => Promise<readonly Writer[]>
}

/**
 * Applies a feed and prints a summary.
 * @returns the exit status: 0, or 1 where lines were rejected or the run was stopped
 * @throws {BadFact} at the first bad line, unless bad lines are set aside
 * @throws {ReadCancelled} when the signal comes before the feed is open
 */
export async function ingestCommand(command: IngestCommand): Promise<0 | 1> {
  const { database, feed, skipBad, input, output, signal, nowSeconds } = command
  const outageObserver = {
    onWait: (reason: Error) => output.write(`${reason.message} The feed waits, and goes on by itself.\n`),
    onResume: () => output.write('The feed goes on.\n'),
  }
  const openFile = async (): Promise<ByteSource> => {
    const stored = (): Promise<FeedPosition | null> => storedPosition(database, path.resolve(feed))
    return fileSource(feed, await retryDuringOutage(stored, outageObserver, signal))
  }
  const source = feed === '-' ? inFullChunks(inputSource(input, signal)) : await untilCancelled(openFile(), signal)
  const rejects = skipBad ? rejectsFile(`${feed === '-' ? 'stdin' : path.resolve(feed)}.rejects.ndjson`) : undefined
  const writers = (await command.startWriters?.()) ?? []
  const progress = showProgress(source, output)
  let summary: Summary = { applied: {}, skipped: {}, rejected: {} }
  let isComplete = false
  try {
    const onBatch = (current: Summary, endByte: number): void => {
      summary = current
      progress.update(current, endByte)
    }
    const onReopen = (stored: FeedPosition | null): void =>
      void output.write(`The database has lost facts that were applied. ${describeResume(stored)}\n`)
    const options = { database, source, onBatch, signal, outageObserver, nowSeconds, onReopen, writers }
    isComplete = await untilStopped(ingest({ ...options, ...(rejects && { rejects }) }), signal)
  } finally {
    progress.stop()
    await withinSeconds(closeSeconds, Promise.all(writers.map((writer) => writer.close())))
    output.write(`${summarize(summary)}\n`)
  }
  if (total(summary.rejected) > 0) {
    output.write(`Bad lines are set aside, with their reasons, in ${rejects?.file ?? ''}\n`)
  }
  if (!isComplete) output.write('Stopped before the end of the feed: the same command does the rest\n')
  return total(summary.rejected) > 0 || !isComplete ? 1 : 0
}

/** Returns the position of a feed as the primary server has it; null where nothing of the feed has been applied. */
function storedPosition(database: Database, name: string): Promise<FeedPosition | null> {
  return database.transaction((transaction) => lockFeedPosition(transaction, name))
}

/** Describes where a feed resumes after the database has lost facts. */
export function describeResume(stored: FeedPosition | null): string {
  return `The feed is read again from ${stored === null ? 'its beginning' : `line ${stored.line + 1}`}.`
}

/** Formats a summary: one line each for applied, skipped and rejected facts, with counts by kind. */
function summarize({ applied, skipped, rejected }: Summary): string {
  return [line('applied', applied), line('skipped', skipped), line('rejected', rejected)].join('\n')
}

function line(name: string, counts: KindCounts): string {
  const kinds = Object.entries(counts).map(([kind, count]) => `${kind} ${count}`)
  return `${name.padEnd(8)} ${String(total(counts)).padStart(9)}${kinds.length === 0 ? '' : `  (${kinds.join(', ')})`}`
}

/** Number of newest batches for the estimate of the remaining time: skipping known facts is faster than applying. */
const newestBatches = 50

/** Shows a progress bar on a terminal: percentage, applied and skipped facts, rate and remaining time. */
function showProgress(
  { byteCounts }: ByteSource,
  output: NodeJS.WriteStream,
): { update(summary: Summary, endByte: number): void; stop(): void } {
  if (!output.isTTY) return { update: () => undefined, stop: () => undefined }
  const { bytesTotal } = byteCounts
  const isKnown = bytesTotal !== null
  const bar = new SingleBar({
    stream: output,
    format: `${isKnown ? '{bar} {percentage}% | ' : ''}{applied} applied, {skipped} skipped, {rate}/s${isKnown ? ' | {left} left' : ''}`,
    hideCursor: true,
  })
  const started = performance.now()
  const first: ProgressSample = { milliseconds: 0, facts: 0, bytesDone: 0 }
  const newest = [first]
  bar.start(bytesTotal ?? 0, 0, { applied: 0, skipped: 0, rate: 0, left: '?' })
  return {
    update: (summary, endByte) => {
      const now = progressSample(summary, endByte, byteCounts, performance.now() - started)
      newest.push(now)
      if (newest.length > newestBatches) newest.shift()
      bar.update(now.bytesDone, {
        applied: total(summary.applied),
        skipped: total(summary.skipped),
        rate: factsPerSecond(first, now),
        left: timeLeft(newest[0] ?? first, now, bytesTotal ?? 0),
      })
    },
    stop: () => bar.stop(),
  }
}
