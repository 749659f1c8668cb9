/** The part of a stream that lines are written to. */
export interface LineStream {
  readonly isTTY?: boolean
  readonly destroyed: boolean
  /** Bytes that the system has not taken yet. */
  readonly writableLength: number
  write(bytes: Buffer, onWritten?: () => void): unknown
}

/** An output for lines. */
export interface LineOutput {
  readonly isTTY?: boolean
  /** Bytes that the system has not taken yet. */
  readonly writableLength?: number
  /** Writes whole lines. */
  write(text: string): unknown
  /** Passes all lines on to the system: call it before the process ends. */
  flush?(): void
}

/**
 * Bytes that one write to a pipe stores together or not at all, while other processes write to it too.
 * @see pipe(7), PIPE_BUF
 */
const atomicBytes = 4_096
const newline = 0x0a

/**
 * Returns an output for lines to a stream that several processes share. A full pipe takes a part of a longer write, and then lines
 * of others: so each write has whole lines, as many as are stored together, and begins when the one before it has ended, since a
 * stream joins those that wait. Only a line that is longer itself may be interrupted by others, where the pipe is full.
 */
export function sharedOutput(stream: LineStream): LineOutput {
  let parts: Buffer[] = []
  let waitingBytes = 0
  const writeNext = (): void => {
    const part = parts.shift() as Buffer
    waitingBytes -= part.length
    stream.write(part, writeOn)
  }
  const writeOn = (): void => {
    if (stream.destroyed) [parts, waitingBytes] = [[], 0]
    while (parts.length > 0 && stream.writableLength === 0) writeNext()
  }
  return {
    isTTY: stream.isTTY === true,
    get writableLength() {
      return waitingBytes + stream.writableLength
    },
    write(text) {
      const bytes = Buffer.from(text)
      parts.push(...partsOf(bytes))
      waitingBytes += bytes.length
      writeOn()
    },
    flush() {
      while (parts.length > 0) writeNext()
    },
  }
}

/** Splits lines into parts of whole lines, each of at most {@link atomicBytes} or one line. */
function partsOf(lines: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let [from, to] = [0, 0]; from < lines.length; from = to) {
    to = lines.length - from <= atomicBytes ? lines.length : lines.lastIndexOf(newline, from + atomicBytes - 1) + 1
    if (to <= from) to = lines.indexOf(newline, from) + 1 || lines.length
    parts.push(lines.subarray(from, to))
  }
  return parts
}
