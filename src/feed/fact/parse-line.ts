import type { FeedPosition } from '../../database/write/feed.ts'
import type { ParsedLine } from '../projector/line-outcome.ts'
import type { Line } from '../reading/lines.ts'
import { digestOf } from './digest.ts'
import { checkFact, maxLineBytes, type Parsed, parseFact } from './parse.ts'

/** The content of a line. */
export type LineBytes = Pick<Line, 'bytes' | 'length' | 'fact'>

/**
 * Parses and validates a line, or validates the fact that a producer in this process passes instead of text.
 * @param position position of the feed after the line
 */
export function parseLine(line: LineBytes, position: FeedPosition): ParsedLine {
  const parsed = line.fact === undefined ? parseBytes(line) : checkFact(line.fact)
  if (!parsed.ok) return { kind: parsed.kind, issue: parsed.issue, position }
  return { fact: parsed.fact, digest: digestOf(parsed.fact), position }
}

function parseBytes({ bytes, length }: LineBytes): Parsed {
  if (length <= maxLineBytes) return parseFact(bytes)
  return {
    ok: false,
    kind: null,
    issue: { key: null, reason: `the line has ${length} bytes, more than ${maxLineBytes}` },
  }
}
