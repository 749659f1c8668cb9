import { type FileHandle, open } from 'node:fs/promises'
import { type ValidationIssue, UnwritableRejects } from './errors.ts'
import type { Line } from './reading/lines.ts'

/** A bad line, and what is wrong with it. */
export interface Rejected {
  readonly line: Line
  readonly flaw: ValidationIssue
}

/** Where bad lines are set aside, each whole and with its reason. */
export interface Rejects {
  readonly file: string
  /**
   * Writes those of a batch, in place of those written since the last batch that was kept.
   * @throws {UnwritableRejects} and nothing of them is left behind
   */
  write(rejected: readonly Rejected[]): Promise<void>
  /** The batch is committed: what was written for it stays. */
  keep(): void
  /** How much of what this run has written stays. */
  readonly keptBytes: number
  /** Takes back what was kept after so many bytes of this run: its lines come again. */
  backTo(keptBytes: number): Promise<void>
  close(): Promise<void>
}

/**
 * A file of JSON lines `{ line, key, reason, text }`, made when the first bad line comes; a line that isn't UTF-8
 * stands as `base64` instead of `text`.
 * @param flags `w` for a feed that is read from its beginning, `a` for one that is followed
 */
export function rejectsFile(file: string, flags: 'w' | 'a'): Rejects {
  return new RejectsFile(file, flags)
}

class RejectsFile implements Rejects {
  #handle: FileHandle | undefined
  /** What the file held before this run. */
  #earlierBytes = 0
  #keptBytes = 0
  /** Of the batch in hand. */
  #written = ''

  constructor(
    readonly file: string,
    readonly flags: 'w' | 'a',
  ) {}

  async write(rejected: readonly Rejected[]): Promise<void> {
    const text = rejected.map(({ line, flaw }) => `${JSON.stringify(entry(line, flaw))}\n`).join('')
    if (text === this.#written) return
    await this.#explained(async () => {
      await this.#cut()
      if (text !== '') await this.#append(text)
    })
  }

  get keptBytes(): number {
    return this.#keptBytes
  }

  backTo(keptBytes: number): Promise<void> {
    return this.#explained(async () => {
      this.#written = ''
      this.#keptBytes = keptBytes
      await this.#handle?.truncate(this.#earlierBytes + keptBytes)
    })
  }

  async #explained(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      await this.#cut()
      const { code = '', message } = error as NodeJS.ErrnoException
      throw new UnwritableRejects(this.file, ofFullDisk.includes(code), message)
    }
  }

  keep(): void {
    this.#keptBytes += Buffer.byteLength(this.#written)
    this.#written = ''
  }

  /** What was written and not kept stays: its batch may be committed, though nobody was told. */
  async close(): Promise<void> {
    await this.#handle?.close()
  }

  async #append(text: string): Promise<void> {
    const handle = (this.#handle ??= await this.#open())
    this.#written = text
    // It goes to the end, wherever the file was cut.
    await handle.appendFile(text)
    // The facts beside these lines are committed next, and must not outlive them.
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

/** What the system says of a disk, or of a user's part of it, that is full. */
const ofFullDisk: readonly string[] = ['ENOSPC', 'EDQUOT']

function entry({ number, bytes, length }: Line, { key, reason }: ValidationIssue): Record<string, unknown> {
  const text = bytes.toString('utf8')
  const content = Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString('base64') }
  const cut = bytes.length < length ? { cutFromBytes: length } : {}
  return { line: number, key, reason, ...cut, ...content }
}
