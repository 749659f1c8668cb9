import { type FileHandle, open } from 'node:fs/promises'
import { type ValidationIssue, UnwritableRejects } from './errors.ts'
import { lineDigest } from './fact/digest.ts'
import { type Line, maxKeptBytes, readLines } from './reading/lines.ts'
import { readBytes } from './reading/open-file.ts'

/** A rejected line with its problem. */
export interface Rejected {
  readonly line: Line
  readonly issue: ValidationIssue
}

/** Stores rejected lines with the reasons. */
export interface Rejects {
  readonly file: string
  /**
   * Stores rejected lines, without those that are stored.
   * @throws {UnwritableRejects} when they cannot be written; no part of a line is left behind
   */
  write(rejected: readonly Rejected[]): Promise<void>
}

/**
 * Returns a file of JSON lines `{ line, key, reason, text }`, which is created at the first rejected line. A line that
 * is not UTF-8 has `base64` instead of `text`.
 *
 * The file is only appended to, since several processes may share it, and each line stands in it once: a batch that is
 * retried, and a feed that is read again, add nothing. It may be removed at any time.
 */
export function rejectsFile(file: string): Rejects {
  return new RejectsFile(file)
}

class RejectsFile implements Rejects {
  /** Which file was read; another one may stand at its path by now. */
  #inode = ''
  #bytesRead = 0
  /** Keys of the lines that were read. */
  #held = new Set<string>()

  constructor(readonly file: string) {}

  async write(rejected: readonly Rejected[]): Promise<void> {
    if (rejected.length === 0) return
    try {
      const handle = await open(this.file, 'a+')
      try {
        await this.#append(handle, rejected.map(entryOf))
        // The facts of the same batch are committed next, and must not survive a crash without these lines.
        await handle.sync()
      } finally {
        await handle.close()
      }
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException
      throw new UnwritableRejects(this.file, fullDiskCodes.includes(code), message)
    }
  }

  async #append(handle: FileHandle, entries: readonly Buffer[]): Promise<void> {
    const endsWithinLine = await this.#readAppended(handle)
    const missing = new Map(entries.map((entry) => [keyOf(entry, entry.length), entry]))
    for (const key of missing.keys()) if (this.#held.has(key)) missing.delete(key)
    if (missing.size === 0) return
    const lines = [...missing.values()].flatMap((entry) => [entry, newline])
    await appendWhole(handle, Buffer.concat(endsWithinLine ? [newline, ...lines] : lines))
  }

  /**
   * Reads what this process and others have appended since the last time.
   * @returns whether the file ends within a line, as a crash of its machine may leave it
   */
  async #readAppended(handle: FileHandle): Promise<boolean> {
    const { dev, ino, size } = await handle.stat()
    const inode = `${dev} ${ino}`
    if (inode !== this.#inode || size < this.#bytesRead) {
      this.#held = new Set()
      this.#bytesRead = 0
    }
    this.#inode = inode
    for await (const lines of readLines(readBytes(handle, this.#bytesRead), { line: 0, byte: 0 })) {
      for (const { bytes, length } of lines) this.#held.add(keyOf(bytes, length))
    }
    this.#bytesRead = size
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1))
    return bytesRead > 0 && !buffer.equals(newline)
  }
}

const newline = Buffer.from('\n')

/** Returns what tells a line of the file from the others, of which not all bytes may have been kept. */
function keyOf(bytes: Buffer, length: number): string {
  return `${length} ${lineDigest(bytes.subarray(0, maxKeptBytes))}`
}

/** Appends bytes by as few writes as possible, so that those of other processes don't come between them. */
async function appendWhole(handle: FileHandle, bytes: Buffer): Promise<void> {
  let written = 0
  try {
    while (written < bytes.length) written += (await handle.write(bytes, written)).bytesWritten
  } catch (error) {
    await cut(handle, bytes.subarray(0, written))
    throw error
  }
}

/** Removes the part of a write that still had room on the disk, unless another process has appended something to it. */
async function cut(handle: FileHandle, written: Buffer): Promise<void> {
  const from = (await handle.stat()).size - written.length
  const { buffer } = await handle.read(Buffer.alloc(written.length), 0, written.length, from)
  if (buffer.equals(written)) await handle.truncate(from)
}

/** Error codes of a full disk, or an exceeded quota. */
const fullDiskCodes: readonly string[] = ['ENOSPC', 'EDQUOT']

function entryOf({ line: { number, bytes, length }, issue: { key, reason } }: Rejected): Buffer {
  const text = bytes.toString('utf8')
  const content = Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString('base64') }
  const cutFrom = bytes.length < length ? { cutFromBytes: length } : {}
  return Buffer.from(JSON.stringify({ line: number, key, reason, ...cutFrom, ...content }))
}
