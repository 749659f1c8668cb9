import type { Batch } from './batch.ts'
import { type LineSegment, segmentsIn } from './jobs/segments.ts'
import type { Line } from './reading/lines.ts'
import { readSource, type Source } from './reading/source.ts'

/** A segment, and its first batch where that is being parsed already. */
export interface ReadSegment extends LineSegment {
  readonly first?: Promise<Batch>
}

/**
 * Reads a source in segments. A source that ends is read ahead: while the caller works on a segment, the next one is read, and
 * parsed where it has no parts. A growing source is not read ahead, because everything before its end must be applied when
 * it notifies its listener of the end.
 * @param jobs number of writers
 */
export function readSegments(
  source: Source,
  jobs: number,
  parse: (lines: readonly Line[]) => Promise<Batch>,
): AsyncIterable<ReadSegment> {
  const segments = segmentsIn(readSource(source), jobs)
  return source.onEnd === undefined ? parsedAhead(segments, parse) : segments
}

async function* parsedAhead(
  segments: AsyncGenerator<LineSegment, void>,
  parse: (lines: readonly Line[]) => Promise<Batch>,
): AsyncGenerator<ReadSegment> {
  const read = async (): Promise<ReadSegment | null> => {
    const { done, value } = await segments.next()
    if (done === true) return null
    if (value.parts !== null) return value
    const first = parse(value.lines)
    first.catch(() => undefined)
    return { ...value, first }
  }
  // The caller may stop before it awaits a started read, whose rejection is then ignored.
  for (let next = read(); ;) {
    const segment = await next
    if (segment === null) return
    next = read()
    next.catch(() => undefined)
    yield segment
  }
}
