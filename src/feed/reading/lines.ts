import type { FactInput } from '../fact/fact.ts'
import { PrefixDigest } from './prefix-digest.ts'

/** Maximum number of bytes that are kept of a line; the length of a longer one is still counted. */
const maxKeptBytes = 32 * 1024 * 1024

const newline = 0x0a

/** A line of a feed as bytes, which may not be valid UTF-8, or a fact in its place. */
export interface Line {
  /** Line number, from 1. */
  readonly number: number
  /** Offset of its end in the feed in bytes, including its newline. */
  readonly endByte: number
  readonly bytes: Buffer
  /** Length in bytes; greater than `bytes.length` where the line was too long to keep. */
  readonly length: number
  /** The fact of a source that yields facts instead of bytes. It is not validated yet. */
  readonly fact?: FactInput
  /** The chunk that contains its end; absent where the source yields facts. */
  readonly chunk?: ReadChunk
}

interface ReadChunk {
  readonly bytes: Buffer
  /** Offset of its first byte. */
  readonly from: number
  /** Digest of everything before it. */
  readonly before: PrefixDigest
  /** Digest up to the line that was requested last, which is extended to later ones. */
  latest?: { readonly digest: PrefixDigest; readonly endByte: number }
}

/** Returns digests of everything from the beginning of the feed to the end of a line. */
export function fingerprintAfter({ endByte, chunk }: Line): string {
  if (chunk === undefined) return ''
  const { bytes, from, before, latest } = chunk
  const known = latest !== undefined && latest.endByte <= endByte ? latest : { digest: before.copy(), endByte: from }
  const digest = known.digest.update(bytes.subarray(known.endByte - from, endByte - from))
  chunk.latest = { digest, endByte }
  return digest.fingerprint()
}

/** A position between two lines: number of lines and bytes before it. */
export interface LineStart {
  readonly line: number
  readonly byte: number
}

/** Rules for a last line without newline. */
export interface LastLineRules {
  /** Tells, when the chunks have ended, whether it is only the beginning of a line, and none to apply. */
  readonly isCut?: () => boolean
  /** Tells, after each chunk, whether no bytes can follow, so that it is a line already. */
  readonly hasEnded?: () => boolean
}

/**
 * Splits a stream of bytes into lines. Yields the lines that each chunk completes; blank lines are omitted.
 * @param digest of everything before the start, which is extended by each chunk
 * @param lastLine rules for a last line without newline; without them it is a line when the chunks have ended
 */
export async function* readLines(
  chunks: AsyncIterable<Buffer>,
  start: LineStart,
  digest = new PrefixDigest(),
  lastLine: LastLineRules = {},
): AsyncGenerator<Line[]> {
  const splitter = new LineSplitter(start, digest)
  for await (const chunk of chunks) {
    const lines = splitter.push(chunk)
    if (lastLine.hasEnded?.() === true) lines.push(...splitter.end())
    if (lines.length > 0) yield lines
  }
  const last = lastLine.isCut?.() === true ? [] : splitter.end()
  if (last.length > 0) yield last
}

/** Numbers facts as the lines that follow a position. */
export async function* numberFacts(
  lists: AsyncIterable<readonly FactInput[]>,
  { line: handled }: Pick<LineStart, 'line'>,
): AsyncGenerator<Line[]> {
  let line = handled
  for await (const facts of lists) yield facts.map((fact) => new FactLine(++line, fact))
}

/** A fact as a line. Its text is only needed where it is rejected. */
class FactLine implements Line {
  /** It is not part of a text. */
  readonly endByte = 0

  constructor(
    readonly number: number,
    readonly fact: FactInput,
  ) {}

  get bytes(): Buffer {
    return Buffer.from(JSON.stringify(this.fact))
  }

  get length(): number {
    return this.bytes.length
  }
}

class LineSplitter {
  #line: number
  #byte: number
  #pieces: Buffer[] = []
  #pieceBytes = 0
  #length = 0

  constructor(
    start: LineStart,
    readonly digest: PrefixDigest,
  ) {
    this.#line = start.line
    this.#byte = start.byte
  }

  push(chunk: Buffer): Line[] {
    const lines: Line[] = []
    let from = 0
    const first = chunk.indexOf(newline)
    const read: ReadChunk = { bytes: chunk, from: this.#byte, before: first === -1 ? this.digest : this.digest.copy() }
    this.digest.update(chunk)
    for (let to = first; to !== -1; to = chunk.indexOf(newline, from)) {
      this.#buffer(chunk.subarray(from, to))
      this.#byte++
      this.#cut(lines, read)
      from = to + 1
    }
    this.#buffer(chunk.subarray(from))
    return lines
  }

  /** Returns the last line where it has no newline. */
  end(): Line[] {
    const lines: Line[] = []
    const read = { bytes: Buffer.alloc(0), from: this.#byte, before: this.digest }
    if (this.#length > 0) this.#cut(lines, read)
    return lines
  }

  #buffer(piece: Buffer): void {
    this.#byte += piece.length
    this.#length += piece.length
    const kept = piece.subarray(0, maxKeptBytes - this.#pieceBytes)
    if (kept.length === 0) return
    this.#pieces.push(kept)
    this.#pieceBytes += kept.length
  }

  #cut(lines: Line[], chunk: ReadChunk): void {
    const bytes = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces)
    this.#line++
    if (bytes.length < this.#length || !isBlankLine(bytes))
      lines.push({ number: this.#line, endByte: this.#byte, bytes, length: this.#length, chunk })
    this.#pieces = []
    this.#pieceBytes = 0
    this.#length = 0
  }
}

/** Tells whether a line has white space only; a byte order mark, with which a file may begin, is no content. */
function isBlankLine(bytes: Buffer): boolean {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return isBlank(hasMark ? bytes.subarray(3) : bytes)
}

/** Tells whether bytes have white space only. */
export function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === newline)
}
