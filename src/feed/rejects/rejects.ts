import { type FileHandle, open } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { UnwritableRejects } from '../errors.ts'
import { lineDigest } from '../fact/digest.ts'
import { withFileLock } from './file-lock.ts'
import { readLines } from '../reading/lines.ts'
import { lineStartAfter, readBytes } from '../reading/open-file.ts'
import type { Rejected } from './rejected-lines.ts'
import { UnconfirmedWrites } from './unconfirmed-writes.ts'

/** Stores rejected lines with the reasons. */
export interface Rejects {
  readonly file: string
  /**
   * Stores rejected lines that are not stored yet.
   * @throws {UnwritableRejects} when they cannot be written; some may be stored, and the next attempt adds the others
   */
  write(rejected: readonly Rejected[]): Promise<void>
}

/**
 * Returns a file of JSON lines `{ line, key, reason, text }`, which is created at the first rejected line. A line that
 * is not UTF-8 has `base64` instead of `text`.
 *
 * The file is only appended to, since several processes may share it. A line among its newest {@link heldLines} that this
 * process has added, or that is in its newest {@link heldBytes}, is not added again, even for another reason, which may name
 * the clock or the vault's newest fact. So a batch that is retried adds nothing, and a feed that is read again only adds
 * lines where it has more bad ones than that. The file may be removed at any time.
 */
export function rejectsFile(file: string): Rejects {
  return new RejectsFile(file)
}

class RejectsFile implements Rejects {
  /** Device and inode of the file that was read: another file may have replaced it. */
  #inode = ''
  /** Size that it has at least: a smaller file is another one with the same inode, or was truncated. */
  #size = 0
  /** End of the last whole line that was read. */
  #bytesRead = 0
  /** Keys of the newest lines of the file, the oldest first. */
  readonly #held = new Set<string>()
  readonly #unconfirmed = new UnconfirmedWrites()
  /** A line that was written only in part, as on a full disk. */
  #unfinished: UnfinishedLine | null = null

  constructor(readonly file: string) {}

  async write(rejected: readonly Rejected[]): Promise<void> {
    if (rejected.length === 0) return
    try {
      const handle = await open(this.file, 'a+')
      try {
        await withFileLock(handle, async () => {
          if (!(await this.#unconfirmed.writeAgain(this.file, handle))) this.#inode = ''
          await this.#append(handle, rejected.map(entryOf))
        })
        // The facts of the same batch are committed next, and must not survive a crash without these lines.
        await this.#unconfirmed.sync(handle)
      } finally {
        await handle.close()
      }
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException
      throw new UnwritableRejects(this.file, fullDiskCodes.includes(code), message)
    }
  }

  async #append(handle: FileHandle, entries: readonly Entry[]): Promise<void> {
    const { size, endsWithinLine } = await this.#readAppended(handle)
    const missing = new Map(entries.map((entry) => [keyOf(entry), entry]))
    for (const key of missing.keys()) if (this.#held.has(key)) missing.delete(key)
    if (missing.size === 0) return
    const lines: Buffer[] = [...missing.values()].map((entry) => Buffer.from(`${JSON.stringify(entry)}\n`))
    const unfinished = this.#unfinished?.endsAt === size ? this.#unfinished : null
    this.#unfinished = null
    const started = unfinished === null ? -1 : lines.findIndex((line) => line.equals(unfinished.line))
    if (unfinished !== null && started >= 0) {
      lines.splice(started, 1)
      lines.unshift(unfinished.line.subarray(unfinished.written))
    } else if (endsWithinLine) lines.unshift(newline)
    await this.#appendAll(handle, lines, started >= 0 ? unfinished : null)
  }

  /**
   * Appends and holds lines, by as few writes as possible, so that writes of other processes don't come between them. Truncates
   * nothing where the disk is full: another process may have appended since.
   * @param first the unfinished line that the first of `lines` completes
   */
  async #appendAll(handle: FileHandle, lines: readonly Buffer[], first: UnfinishedLine | null): Promise<void> {
    const bytes = Buffer.concat(lines)
    const whole = first === null ? lines : [first.line, ...lines.slice(1)]
    let [written, wholeWritten] = [0, lines.length]
    try {
      while (written < bytes.length) written += (await handle.write(bytes, written)).bytesWritten
    } catch (error) {
      let at = written
      wholeWritten = lines.findIndex((line) => at < line.length || ((at -= line.length), false))
      if (wholeWritten === 0) at += first?.written ?? 0
      this.#unfinished = { line: whole[wholeWritten] ?? newline, written: at, endsAt: (await handle.stat()).size }
      throw error
    } finally {
      this.#unconfirmed.add(this.#size, bytes.subarray(0, written))
      this.#size += written
      for (const line of whole.slice(0, wholeWritten)) this.#hold(line)
    }
  }

  /**
   * Reads the lines that this process and others have appended since the last time.
   * @returns the size, and whether the file ends within a line, as after a crash
   */
  async #readAppended(handle: FileHandle): Promise<FileEnd> {
    const { dev, ino } = await handle.stat()
    const { size, endsWithinLine } = await settledEnd(handle)
    const inode = `${dev} ${ino}`
    if (inode !== this.#inode || size < this.#size) {
      this.#held.clear()
      this.#bytesRead = 0
    }
    this.#inode = inode
    this.#size = size
    const skipsTo = Math.max(0, size - heldBytes)
    if (skipsTo > this.#bytesRead) this.#bytesRead = await lineStartAfter(handle, skipsTo, size)
    for await (const lines of readLines(readBytes(handle, this.#bytesRead, size), { line: 0, byte: this.#bytesRead })) {
      for (const { bytes, endByte } of lines) {
        if (endsWithinLine && endByte === size) continue
        this.#hold(bytes)
        this.#bytesRead = endByte
      }
    }
    return { size, endsWithinLine }
  }

  #hold(bytes: Buffer): void {
    const key = keyOfStored(bytes)
    if (key !== null) this.#held.add(key)
    const [oldest = ''] = this.#held
    if (this.#held.size > heldLines) this.#held.delete(oldest)
  }
}

/** A line that was appended in part. */
interface UnfinishedLine {
  /** The line with its newline. */
  readonly line: Buffer
  /** Number of its bytes in the file. */
  readonly written: number
  /** Size of the file after these bytes. */
  readonly endsAt: number
}

interface FileEnd {
  readonly size: number
  readonly endsWithinLine: boolean
}

/** Number of the newest lines and bytes of the file that new lines are compared with. */
const heldLines = 50_000
const heldBytes = 4 * 1024 * 1024
const newline = Buffer.from('\n')
/** Pause between checks and number of checks of a file that ends within a line, which another process may be writing. */
const lookMilliseconds = 20
const looks = 5

/** Returns how a file ends, once it ends with a whole line or has ended within one for some time. */
async function settledEnd(handle: FileHandle): Promise<FileEnd> {
  for (let look = 1; ; look++) {
    const { size } = await handle.stat()
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1))
    const endsWithinLine = bytesRead > 0 && !buffer.equals(newline)
    if (!endsWithinLine || look === looks) return { size, endsWithinLine }
    await wait(lookMilliseconds)
  }
}

/** A line of the file. */
interface Entry {
  readonly line: number
  readonly key: string | null
  readonly reason: string
  /** Length of the rejected line in bytes, where only a part of it is stored. */
  readonly cutFromBytes?: number
  readonly text?: string
  readonly base64?: string
}

/** Returns the key that identifies a rejected line: a digest of its number and content. */
function keyOf({ line, cutFromBytes, text, base64 }: Entry): string {
  return lineDigest(Buffer.from(JSON.stringify([line, cutFromBytes, text, base64])))
}

/** Returns the key of a line of the file; null for an incomplete line. */
function keyOfStored(bytes: Buffer): string | null {
  try {
    return keyOf(JSON.parse(bytes.toString()) as Entry)
  } catch {
    return null
  }
}

/** Error codes of a full disk, or an exceeded quota. */
const fullDiskCodes: readonly string[] = ['ENOSPC', 'EDQUOT']

function entryOf({ line: { number, bytes, length }, issue: { key, reason } }: Rejected): Entry {
  const text = bytes.toString('utf8')
  const content = Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString('base64') }
  const cutFrom = bytes.length < length ? { cutFromBytes: length } : {}
  return { line: number, key, reason, ...cutFrom, ...content }
}
