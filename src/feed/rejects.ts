import { type FileHandle, open } from 'node:fs/promises'
import { type ValidationIssue, UnwritableRejects } from './errors.ts'
import type { Line } from './reading/lines.ts'

/** A rejected line with its problem. */
export interface Rejected {
  readonly line: Line
  readonly issue: ValidationIssue
}

/** Stores rejected lines with the reasons. */
export interface Rejects {
  readonly file: string
  /**
   * Writes the rejected lines of a batch, replacing those written since the last kept batch.
   * @throws {UnwritableRejects} when they cannot be written; nothing of them is left behind
   */
  write(rejected: readonly Rejected[]): Promise<void>
  /** Keeps what was written for a batch, which is committed. */
  keep(): void
  /** Number of kept bytes of this run. */
  readonly keptBytes: number
  /** Removes what was kept after this many bytes of this run, because its lines are processed again. */
  backTo(keptBytes: number): Promise<void>
  close(): Promise<void>
}

/**
 * Creates a file of JSON lines `{ line, key, reason, text }` at the first rejected line. A line that is not UTF-8 has
 * `base64` instead of `text`.
 * @param flags `w` to overwrite the file for a feed that is read from its beginning, `a` to append for one that is
 *   followed
 */
export function rejectsFile(file: string, flags: 'w' | 'a'): Rejects {
  return new RejectsFile(file, flags)
}

class RejectsFile implements Rejects {
  #handle: FileHandle | undefined
  /** Size of the file before this run. */
  #earlierBytes = 0
  #keptBytes = 0
  /** Text of the current batch. */
  #written = ''

  constructor(
    readonly file: string,
    readonly flags: 'w' | 'a',
  ) {}

  async write(rejected: readonly Rejected[]): Promise<void> {
    const text = rejected.map(({ line, issue }) => `${JSON.stringify(entry(line, issue))}\n`).join('')
    if (text === this.#written) return
    await this.#withUnwritableError(async () => {
      await this.#cut()
      if (text !== '') await this.#append(text)
    })
  }

  get keptBytes(): number {
    return this.#keptBytes
  }

  backTo(keptBytes: number): Promise<void> {
    return this.#withUnwritableError(async () => {
      this.#written = ''
      this.#keptBytes = keptBytes
      await this.#handle?.truncate(this.#earlierBytes + keptBytes)
    })
  }

  async #withUnwritableError(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      await this.#cut()
      const { code = '', message } = error as NodeJS.ErrnoException
      throw new UnwritableRejects(this.file, fullDiskCodes.includes(code), message)
    }
  }

  keep(): void {
    this.#keptBytes += Buffer.byteLength(this.#written)
    this.#written = ''
  }

  /**
   * Closes the file. Text that was written and not kept stays, because its batch may be committed although the response
   * was lost.
   */
  async close(): Promise<void> {
    await this.#handle?.close()
  }

  async #append(text: string): Promise<void> {
    const handle = (this.#handle ??= await this.#open())
    this.#written = text
    // Appends at the end of the file, wherever it was truncated.
    await handle.appendFile(text)
    // The facts of the same batch are committed next, and must not survive a crash without these lines.
    await handle.sync()
  }

  async #open(): Promise<FileHandle> {
    const handle = await open(this.file, 'a')
    if (this.flags === 'w') await handle.truncate(0)
    this.#earlierBytes = (await handle.stat()).size
    return handle
  }

  async #cut(): Promise<void> {
    if (this.#written !== '') await this.#handle?.truncate(this.#earlierBytes + this.#keptBytes)
    this.#written = ''
  }
}

/** Error codes of a full disk, or an exceeded quota. */
const fullDiskCodes: readonly string[] = ['ENOSPC', 'EDQUOT']

function entry({ number, bytes, length }: Line, { key, reason }: ValidationIssue): Record<string, unknown> {
  const text = bytes.toString('utf8')
  const content = Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString('base64') }
  const cut = bytes.length < length ? { cutFromBytes: length } : {}
  return { line: number, key, reason, ...cut, ...content }
}
