import { setImmediate as nextTurn } from 'node:timers/promises'
import { aheadOfClock } from './fact/clock.ts'
import { lineDigest } from './fact/digest.ts'
import type { Line } from './reading/lines.ts'
import { maxLineBytes, parseFact } from './fact/parse.ts'
import type { BatchLine } from './projector/line-outcome.ts'
import type { Source } from './reading/source.ts'

/** What a transaction costs beside its facts is small beside so many of them; a chunk of a file has about as many. */
export const batchLines = 3_000
/** So many lines are parsed between two looks at what the database has answered. */
const turnLines = 50

/** Lines that are applied in one transaction, and the facts in them. */
export interface Batch {
  readonly lines: readonly Line[]
  readonly candidates: readonly BatchLine[]
}

/**
 * Parses the lines of a batch.
 * @param from the first of them
 * @param nowSeconds the clock, in Unix seconds: a fact more than a day ahead of it is bad
 */
export async function parseBatch(
  source: Source,
  nowSeconds: (() => number) | undefined,
  all: readonly Line[],
  from: number,
): Promise<Batch> {
  const lines = all.slice(from, from + batchLines)
  const candidates: BatchLine[] = []
  const clock = source.hasOwnTime === true ? undefined : nowSeconds
  for (let at = 0; at < lines.length; at += turnLines) {
    if (at > 0) await nextTurn()
    candidates.push(...lines.slice(at, at + turnLines).map((line) => candidate(line, source, clock)))
  }
  return { lines, candidates }
}

function candidate(line: Line, source: Source, nowSeconds: (() => number) | undefined): BatchLine {
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
  if (!parsed.ok) return { position, kind: parsed.kind, flaw: parsed.flaw }
  const { fact } = parsed
  const flaw = nowSeconds === undefined ? null : aheadOfClock(fact, nowSeconds())
  return flaw === null ? { position, fact } : { position, kind: fact.kind, flaw }
}
