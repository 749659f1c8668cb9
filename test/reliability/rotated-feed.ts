import { appendFile, mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { Database } from '../../src/database/database.ts'
import { readFeedPosition, readUntilOfFeed } from '../../src/database/write/feed.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { followedSource } from '../../src/feed/reading/followed-source.ts'
import { feedText } from '../support/feeds.ts'
import { addressOf, mark, midnight, opened, strategy } from '../support/world.ts'

/** A feed has lost lines when none was applied for this time. */
const patienceMilliseconds = 60_000
const lookMilliseconds = 250

/** A step of the program that writes a feed and rotates its files, or of the gateway that follows it. */
export type Step =
  /** Late lines are written to the file before the one at the path. */
  | { readonly do: 'write' | 'write late lines'; readonly lines: number }
  | { readonly do: 'write half a line' }
  | { readonly do: 'rotate'; readonly lines: number; readonly millisecondsWithoutFile: number }
  /** The age of a file is the number of those that were begun after it, but for the one at the path. Older ones are compressed too. */
  | { readonly do: 'compress'; readonly age: number }
  | { readonly do: 'remove the oldest file' }
  | { readonly do: 'stop or start' }
  | { readonly do: 'pause'; readonly milliseconds: number }

/** How a rotation names files. */
export type Naming = 'by number' | 'by date' | 'by date within'

/** A file of the feed. */
interface File {
  name: string
  /** The rest of a line of which a part was written. */
  rest: string
  isCompressed: boolean
}

/** A feed whose files are written and rotated step by step, while it is followed. */
export class RotatedFeed {
  readonly #database: Database
  readonly #feed: string
  readonly #naming: Naming
  readonly #number: number
  /** The files of the feed, the newest first, which stands at the path. */
  #files: File[]
  /** Facts of strategies that were written, and marks. */
  readonly #written = { strategies: 0, marks: 0 }
  #rotations = 0
  #follower: { readonly stop: () => Promise<void> } | null = null
  #failure: string | null = null

  constructor(database: Database, folder: string, number: number, naming: Naming) {
    this.#database = database
    this.#feed = path.join(folder, 'feed.ndjson')
    this.#naming = naming
    this.#number = number
    this.#files = [{ name: this.#feed, rest: '', isCompressed: false }]
  }

  get lines(): number {
    return 1 + this.#written.strategies + this.#written.marks
  }

  get rotations(): number {
    return this.#rotations
  }

  /**
   * Takes steps, and waits until all lines are applied.
   * @returns a description of what is missing; null where nothing is
   */
  async run(steps: readonly Step[]): Promise<string | null> {
    await mkdir(path.dirname(this.#feed))
    await writeFile(this.#feed, feedText([this.#nextStrategy(), opened(this.#vault, this.#strategyId(0))]))
    await this.#start()
    for (const step of steps) await this.#take(step)
    for (const file of this.#files) await this.#append(file, '')
    if (this.#follower === null) await this.#start()
    const missing = await this.#missingAtEnd()
    await this.#follower?.stop()
    if (this.#failure !== null) return this.#failure
    return missing === '' ? null : missing
  }

  async #take(step: Step): Promise<void> {
    const [current, previous] = this.#files
    if (step.do === 'pause') return wait(step.milliseconds)
    if (step.do === 'write') return this.#append(current, this.#marks(step.lines))
    if (step.do === 'write late lines' && previous !== undefined && !previous.isCompressed)
      return this.#append(previous, this.#strategies(step.lines))
    if (step.do === 'write half a line') return this.#writeHalf()
    if (step.do === 'rotate') return this.#rotate(step.lines, step.millisecondsWithoutFile)
    if (step.do === 'compress') return this.#compressFrom(step.age + 1)
    if (step.do === 'remove the oldest file') return this.#removeOldest()
    if (step.do === 'stop or start') return this.#follower === null ? this.#start() : this.#stop()
  }

  get #vault(): string {
    return addressOf(1_000 + this.#number)
  }

  #strategyId(index: number): string {
    return `rotated-${this.#number}-${index}`
  }

  #nextStrategy(): FactInput {
    return strategy(this.#strategyId(this.#written.strategies++))
  }

  #strategies(count: number): string {
    return feedText(Array.from({ length: count }, () => this.#nextStrategy()))
  }

  /** Marks are bad where they are applied in another order. */
  #marks(count: number): string {
    return feedText(Array.from({ length: count }, () => mark(this.#vault, midnight + ++this.#written.marks, '0')))
  }

  async #append(file: File | undefined, text: string): Promise<void> {
    if (file === undefined || file.rest + text === '') return
    await appendFile(file.name, file.rest + text)
    file.rest = ''
  }

  async #writeHalf(): Promise<void> {
    const [current] = this.#files
    if (current === undefined) return
    if (current.rest !== '') return this.#append(current, '')
    const line = this.#strategies(1)
    await appendFile(current.name, line.slice(0, 40))
    current.rest = line.slice(40)
  }

  async #rotate(lines: number, millisecondsWithoutFile: number): Promise<void> {
    // Once a third file is begun, lines of the first are not read.
    await this.#append(this.#files[1], '')
    const number = ++this.#rotations
    const stem = this.#feed.slice(0, -'.ndjson'.length)
    const date = `202601${String(number).padStart(2, '0')}`
    if (this.#naming === 'by number') {
      for (let age = this.#files.length - 1; age >= 0; age--) {
        const file = this.#files[age]
        if (file !== undefined) await this.#rename(file, `${this.#feed}.${age + 1}${file.isCompressed ? '.gz' : ''}`)
      }
    } else if (this.#files[0] !== undefined) {
      await this.#rename(
        this.#files[0],
        this.#naming === 'by date' ? `${this.#feed}-${date}` : `${stem}-${date}.ndjson`,
      )
    }
    if (millisecondsWithoutFile > 0) await wait(millisecondsWithoutFile)
    await writeFile(this.#feed, this.#marks(lines))
    // The rest of a line may come after the file was renamed.
    await this.#append(this.#files[0], '')
    this.#files = [{ name: this.#feed, rest: '', isCompressed: false }, ...this.#files]
  }

  async #rename(file: File, name: string): Promise<void> {
    await rename(file.name, name)
    file.name = name
  }

  /** Compresses a file and all older ones, if each was written to last before the next one was. */
  async #compressFrom(index: number): Promise<void> {
    const files = this.#files.slice(index)
    const times = await Promise.all(this.#files.slice(index - 1).map(async ({ name }) => (await stat(name)).mtimeMs))
    const isInOrder = files.every((file, at) => file.rest === '' && (times[at + 1] ?? 0) < (times[at] ?? 0))
    if (isInOrder) for (const file of files.reverse()) if (!file.isCompressed) await this.#compress(file)
  }

  /** Compresses a file as gzip does: the copy has the time of the file. */
  async #compress(file: File): Promise<void> {
    const { atime, mtime } = await stat(file.name)
    await writeFile(`${file.name}.gz`, gzipSync(await readFile(file.name)))
    await utimes(`${file.name}.gz`, atime, mtime)
    await rm(file.name)
    file.name += '.gz'
    file.isCompressed = true
  }

  /** Removes the oldest file, if all lines are applied. */
  async #removeOldest(): Promise<void> {
    const oldest = this.#files[2] && this.#files.at(-1)
    if (oldest?.rest !== '' || (await this.#missing()) !== '') return
    await rm(oldest.name)
    this.#files = this.#files.slice(0, -1)
  }

  async #start(): Promise<void> {
    const stopping = new AbortController()
    const { prisma } = this.#database
    const stored = await readFeedPosition(prisma, this.#feed)
    const nowSeconds = (): number => Date.now() / 1_000
    const readUntil = await readUntilOfFeed(prisma, this.#feed, nowSeconds)
    const failed = (error: unknown): void => void (this.#failure ??= (error as Error).message)
    try {
      const source = await followedSource(this.#feed, stored, stopping.signal, undefined, readUntil)
      const ended = ingest({ database: this.#database, source, nowSeconds, signal: stopping.signal }).then(
        () => undefined,
        failed,
      )
      const stop = (): Promise<void> => {
        stopping.abort()
        return ended
      }
      this.#follower = { stop }
    } catch (error) {
      failed(error)
    }
  }

  async #stop(): Promise<void> {
    await this.#follower?.stop()
    this.#follower = null
  }

  /** Returns what is not applied yet; an empty text where nothing is missing. */
  async #missing(): Promise<string> {
    const { prisma } = this.#database
    const [strategies, marks] = await Promise.all([
      prisma.strategy.count({ where: { id: { startsWith: `rotated-${this.#number}-` } } }),
      prisma.equityPoint.count({ where: { vault: { is: { address: this.#vault } } } }),
    ])
    const missing = { strategies: this.#written.strategies - strategies, marks: this.#written.marks - marks }
    return missing.strategies === 0 && missing.marks === 0 ? '' : `missing ${JSON.stringify(missing)}`
  }

  async #missingAtEnd(): Promise<string> {
    let [missing, changedAt] = [await this.#missing(), performance.now()]
    while (missing !== '' && this.#failure === null && performance.now() - changedAt < patienceMilliseconds) {
      await wait(lookMilliseconds)
      const now = await this.#missing()
      if (now !== missing) changedAt = performance.now()
      missing = now
    }
    return missing
  }
}
