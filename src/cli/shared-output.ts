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
  const writeOn = (): void => {
    if (stream.destroyed) parts = []
    while (parts.length > 0 && stream.writableLength === 0) stream.write(parts.shift() as Buffer, writeOn)
  }
  return {
    isTTY: stream.isTTY === true,
    write(text) {
      parts.push(...partsOf(Buffer.from(text)))
      writeOn()
    },
    flush() {
      for (const part of parts) stream.write(part)
      parts = []
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
