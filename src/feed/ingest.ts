import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import { lineDigest } from './digest.ts'
import { BadFact } from './errors.ts'
import type { FactKind } from './fact.ts'
import { type Line, readLines } from './lines.ts'
import { maxLineBytes, parseFact } from './parse.ts'
import { type Patience, patiently } from './patience.ts'
import { applyBatch, type Candidate, type Fate } from './projector.ts'
import type { Rejected, Rejects } from './rejects.ts'
import type { Source } from './source.ts'

/** What a transaction costs beside its facts is small beside so many of them; a chunk of a file has about as many. */
const batchLines = 3_000
/** So many lines are parsed between two looks at what the database has answered. */
const turnLines = 50

/** Counts by kind; a line that is no fact has none. */
export type Tally = Partial<Record<FactKind | 'unreadable', number>>

export interface Summary {
  readonly applied: Tally
  readonly skipped: Tally
  readonly rejected: Tally
}

export interface IngestOptions {
  readonly database: Database
  readonly source: Source
  /** Where bad lines are set aside; without it the first one ends the run. */
  readonly rejects?: Rejects
  /** Is told after each batch, also after one that ends with a bad line: how many unpacked bytes its lines end at. */
  readonly onProgress?: (summary: Summary, bytesHandled: number) => void
  /** Waits while the database is out, and goes on with the batch in hand; without it, that ends the run. */
  readonly patience?: Patience
  /** Ends the run at the next committed batch, or while it waits. */
  readonly signal?: AbortSignal
}

/**
 * Applies a feed, in batches of one transaction each.
 * @throws {BadFact} at the first bad line where none are set aside; everything before it is committed
 * @throws {UnreadableFeed} where its bytes end in the middle
 * @throws {UnwritableRejects} where bad lines can't be set aside; their batch is not applied
 */
export async function ingest(options: IngestOptions): Promise<Summary> {
  const summary: Summary = { applied: {}, skipped: {}, rejected: {} }
  const { source, signal, onProgress } = options
  let bytesHandled = source.start.byte
  const onHandled = (line: Line): void => void (bytesHandled = line.endByte)
  for await (const lines of readLines(source.chunks, source.start)) {
    let next = parseBatch(source, lines, 0)
    for (let from = 0; from < lines.length; from += batchLines) {
      const batch = await next
      if (signal?.aborted === true) return summary
      // The next batch is parsed while the database works on this one.
      next = parseBatch(source, lines, from + batchLines)
      try {
        await applyLines(options, batch, summary, onHandled)
      } finally {
        onProgress?.(summary, bytesHandled)
      }
    }
  }
  return summary
}

interface Batch {
  readonly lines: readonly Line[]
  readonly candidates: readonly Candidate[]
}

async function parseBatch(source: Source, all: readonly Line[], from: number): Promise<Batch> {
  const lines = all.slice(from, from + batchLines)
  const candidates: Candidate[] = []
  for (let at = 0; at < lines.length; at += turnLines) {
    if (at > 0) await nextTurn()
    candidates.push(...lines.slice(at, at + turnLines).map((line) => candidate(line, source)))
  }
  return { lines, candidates }
}

async function applyLines(
  options: IngestOptions,
  batch: Batch,
  summary: Summary,
  onHandled: (last: Line) => void,
): Promise<void> {
  const { lines } = batch
  const { source, rejects, patience, signal } = options
  const fates = await patiently(tries(options, batch), patience, signal)
  if (fates === null) return
  rejects?.keep()
  for (const { fate, kind } of fates) {
    const tally = summary[fate]
    tally[kind ?? 'unreadable'] = (tally[kind ?? 'unreadable'] ?? 0) + 1
  }
  const last = lines[fates.length - 1]
  if (last !== undefined) onHandled(last)
  const [bad] = rejectedLines(lines, fates)
  if (bad !== undefined && rejects === undefined) {
    throw new BadFact(source.name, bad.line.number, bad.flaw.key, bad.flaw.reason)
  }
}

/** Applies the same batch each time. A commit whose answer was lost is found out by the next time. */
function tries(
  { database, source, rejects }: IngestOptions,
  { lines, candidates }: Batch,
): () => Promise<readonly Fate[]> {
  let earlier: readonly Fate[] | undefined
  return async () => {
    let reached: readonly Fate[] | undefined
    const beforeCommit = async (fates: readonly Fate[]): Promise<void> => {
      await rejects?.write(rejectedLines(lines, fates))
      reached = settled(fates, earlier)
    }
    try {
      const fates = await applyBatch(database, source.name, candidates, {
        skipBad: rejects !== undefined,
        beforeCommit,
      })
      return settled(fates, earlier)
    } catch (error) {
      earlier = reached ?? earlier
      throw error
    }
  }
}

/** What became of a batch: where everything that an earlier try applied is known now, that one was committed. */
function settled(fates: readonly Fate[], earlier: readonly Fate[] | undefined): readonly Fate[] {
  const wasCommitted = earlier?.every(({ fate }, index) => fate !== 'applied' || fates[index]?.fate === 'skipped')
  return earlier !== undefined && wasCommitted === true ? earlier : fates
}

function rejectedLines(lines: readonly Line[], fates: readonly Fate[]): Rejected[] {
  return fates.flatMap((fate, index) =>
    fate.fate === 'rejected' ? [{ line: lines[index] as Line, flaw: fate.flaw }] : [],
  )
}

function candidate(line: Line, source: Source): Candidate {
  const { number, endByte, bytes, length } = line
  const position = source.positionAfter?.(line) ?? {
    line: number,
    byte: endByte,
    // Of a batch only the last position is stored: the digests of the other lines are never asked for.
    get fingerprint() {
      return lineDigest(bytes)
    },
  }
  if (length > maxLineBytes) {
    return {
      position,
      kind: null,
      flaw: { key: null, reason: `the line has ${length} bytes, more than ${maxLineBytes}` },
    }
  }
  const parsed = parseFact(bytes)
  return parsed.ok ? { position, fact: parsed.fact } : { position, kind: parsed.kind, flaw: parsed.flaw }
}
