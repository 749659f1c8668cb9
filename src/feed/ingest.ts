import type { Database } from '../database/database.ts'
import { lineDigest } from './digest.ts'
import { BadFact, type Flaw } from './errors.ts'
import type { FactKind } from './fact.ts'
import { type Line, readLines } from './lines.ts'
import { maxLineBytes, parseFact } from './parse.ts'
import { applyBatch, type Candidate, type Fate } from './projector.ts'
import type { Rejects } from './rejects.ts'
import type { Source } from './source.ts'

const batchLines = 1_000

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
  /** Is told after each batch, also after one that ends with a bad line. */
  readonly onProgress?: (summary: Summary) => void
  /** Ends the run at the next committed batch. */
  readonly signal?: AbortSignal
}

/**
 * Applies a feed, in batches of one transaction each.
 * @throws {BadFact} at the first bad line where none are set aside; everything before it is committed
 * @throws {UnreadableFeed} where its bytes end in the middle
 */
export async function ingest(options: IngestOptions): Promise<Summary> {
  const summary: Summary = { applied: {}, skipped: {}, rejected: {} }
  const { source, signal, onProgress } = options
  for await (const lines of readLines(source.chunks, source.start)) {
    for (let from = 0; from < lines.length; from += batchLines) {
      if (signal?.aborted === true) return summary
      try {
        await applyLines(options, lines.slice(from, from + batchLines), summary)
      } finally {
        onProgress?.(summary)
      }
    }
  }
  return summary
}

async function applyLines(options: IngestOptions, lines: readonly Line[], summary: Summary): Promise<void> {
  const { database, source, rejects } = options
  const fates = await applyBatch(
    database,
    source.name,
    lines.map((line) => candidate(line, source)),
    {
      skipBad: rejects !== undefined,
      beforeCommit: async (fates) => rejects?.add(rejectedLines(lines, fates)),
    },
  )
  for (const { fate, kind } of fates) {
    const tally = summary[fate]
    tally[kind ?? 'unreadable'] = (tally[kind ?? 'unreadable'] ?? 0) + 1
  }
  const [bad] = rejectedLines(lines, fates)
  if (bad !== undefined && rejects === undefined) {
    throw new BadFact(source.name, bad.line.number, bad.flaw.key, bad.flaw.reason)
  }
}

function rejectedLines(lines: readonly Line[], fates: readonly Fate[]): { line: Line; flaw: Flaw }[] {
  return fates.flatMap((fate, index) =>
    fate.fate === 'rejected' ? [{ line: lines[index] as Line, flaw: fate.flaw }] : [],
  )
}

function candidate(line: Line, source: Source): Candidate {
  const { number, endByte, bytes, length } = line
  const position = source.positionAfter?.(line) ?? { line: number, byte: endByte, fingerprint: lineDigest(bytes) }
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
