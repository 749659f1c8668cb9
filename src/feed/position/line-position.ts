import type { BytePosition, FeedPosition } from '../../database/write/feed.ts'
import { fingerprintAfter, type Line } from '../reading/lines.ts'
import type { Source } from '../reading/source.ts'

/** Returns the position of a feed after a line. */
export function positionAfter(source: Source, line: Line): FeedPosition {
  return source.positionAfter?.(line) ?? new LinePosition(line)
}

/** The position after a line. Its fingerprint is computed lazily, because only the last position of a batch is stored. */
class LinePosition implements BytePosition {
  readonly line: number
  readonly byte: number
  /** The line, which retains its whole chunk in memory; null once the fingerprint is computed. */
  #line: Line | null
  #fingerprint = ''

  constructor(line: Line) {
    this.line = line.number
    this.byte = line.endByte
    this.#line = line
  }

  get fingerprint(): string {
    if (this.#line !== null) this.#fingerprint = fingerprintAfter(this.#line)
    this.#line = null
    return this.#fingerprint
  }
}
