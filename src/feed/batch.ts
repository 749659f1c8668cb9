import { setImmediate as nextIteration } from 'node:timers/promises'
import { parseLine } from './fact/parse-line.ts'
import { positionAfter } from './position/line-position.ts'
import type { ParsedLine } from './projector/line-outcome.ts'
import { chunkBytes } from './reading/decompress.ts'
import type { Line } from './reading/lines.ts'
import type { Source } from './reading/source.ts'

/**
 * Maximum lines in a batch: enough that the fixed cost of a transaction is small compared with that of its facts. A chunk
 * of a file has about as many.
 */
export const maxBatchLines = 6_000
/** Bytes at which a batch is complete: a chunk of a file stays one batch, with the line that started in the previous chunk. */
const fullBatchBytes = 2 * chunkBytes
/** Number of lines that are parsed before the event loop runs again to handle responses of the database. */
const parsedAtOnce = 50

/** Lines that are applied in one transaction, with their facts. */
export interface Batch {
  readonly lines: readonly Line[]
  readonly parsed: readonly ParsedLine[]
}

/**
 * Parses the lines of a batch: at most {@link maxBatchLines}, and fewer where they are long.
 * @param from index of its first line
 */
export async function parseBatch(source: Source, all: readonly Line[], from: number): Promise<Batch> {
  const lines = all.slice(from, batchEnd(all, from))
  const parsed: ParsedLine[] = []
  for (let at = 0; at < lines.length; at += parsedAtOnce) {
    if (at > 0) await nextIteration()
    for (const line of lines.slice(at, at + parsedAtOnce)) {
      parsed.push(parseLine(line, positionAfter(source, line)))
    }
  }
  return { lines, parsed }
}

/** Returns the index after the last line of a batch, which has at least one line unless none is left. */
function batchEnd(lines: readonly Line[], from: number): number {
  let to = from
  for (let bytes = 0; to < lines.length && to < from + maxBatchLines && bytes < fullBatchBytes; to++)
    bytes += bytesOf(lines[to] as Line)
  return to
}

/** Returns the length of a line in bytes; 0 for a fact of a producer in this process, which has no text. */
function bytesOf(line: Line): number {
  return line.fact === undefined ? line.length : 0
}

/** Returns the size of lines, in lines of usual length: at least their number. */
export function sizeInLines(lines: readonly Line[]): number {
  const bytes = lines.reduce((sum, line) => sum + bytesOf(line), 0)
  return Math.max(lines.length, Math.ceil((bytes * maxBatchLines) / chunkBytes))
}
