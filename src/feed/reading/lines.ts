/** Of a line that is longer, only so much is held; what it was is still told by its length. */
const maxHeldBytes = 32 * 1024 * 1024

const newline = 0x0a

/** A line of a feed, as bytes: it isn't known yet whether they are text. */
export interface Line {
  /** From 1. */
  readonly number: number
  /** Bytes of the feed up to its end, with its newline. */
  readonly endByte: number
  readonly bytes: Buffer
  /** More than there are bytes where the line was too long to hold. */
  readonly length: number
}

export interface LineStart {
  readonly line: number
  readonly byte: number
}

/** Cuts a stream of bytes into lines, and gives those that each chunk completes together. Blank lines are left out. */
export async function* readLines(chunks: AsyncIterable<Buffer>, start: LineStart): AsyncGenerator<Line[]> {
  const cutter = new LineCutter(start)
  for await (const chunk of chunks) {
    const lines = cutter.push(chunk)
    if (lines.length > 0) yield lines
  }
  const last = cutter.end()
  if (last.length > 0) yield last
}

class LineCutter {
  #line: number
  #byte: number
  #held: Buffer[] = []
  #heldBytes = 0
  #length = 0

  constructor(start: LineStart) {
    this.#line = start.line
    this.#byte = start.byte
  }

  push(chunk: Buffer): Line[] {
    const lines: Line[] = []
    let from = 0
    for (let to = chunk.indexOf(newline); to !== -1; to = chunk.indexOf(newline, from)) {
      this.#hold(chunk.subarray(from, to))
      this.#byte++
      this.#cut(lines)
      from = to + 1
    }
    this.#hold(chunk.subarray(from))
    return lines
  }

  /** The rest, where the last line has no newline. */
  end(): Line[] {
    const lines: Line[] = []
    if (this.#length > 0) this.#cut(lines)
    return lines
  }

  #hold(part: Buffer): void {
    this.#byte += part.length
    this.#length += part.length
    const kept = part.subarray(0, maxHeldBytes - this.#heldBytes)
    if (kept.length === 0) return
    this.#held.push(kept)
    this.#heldBytes += kept.length
  }

  #cut(lines: Line[]): void {
    const bytes = this.#held.length === 1 ? (this.#held[0] as Buffer) : Buffer.concat(this.#held)
    this.#line++
    if (bytes.length < this.#length || !isBlank(bytes))
      lines.push({ number: this.#line, endByte: this.#byte, bytes, length: this.#length })
    this.#held = []
    this.#heldBytes = 0
    this.#length = 0
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}
