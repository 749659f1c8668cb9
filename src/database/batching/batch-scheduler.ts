import { type Cancellation, Canceller } from '../cancellation.ts'
import { ReadCancelled } from '../errors.ts'
import type { Read, Value, Versioned, VersionedReader } from '../database.ts'

/** So many keys make a read long enough that more of them would only make everybody wait; fewer where each has many rows. */
const mostKeys = 100
/** While the answer of one is taken apart, the server is at the next, and has one more; others would only be smaller. */
const mostAtOnce = 3

/** A reader that can have several reads of one kind under way. */
export interface Pipelining {
  /** Reads each of which is sent while those before it run. */
  readonly pipelined: () => VersionedReader
}

/**
 * Makes one read of what several requests ask for at once, where the read may be shared: under load each serves as many
 * as came while those before it ran. A read begins after it was asked for, so that nobody is told what was before. One
 * who gives it up no longer waits for it; the others do, and with the last of them it is given up itself.
 */
export function batchReads(reader: VersionedReader & Partial<Pipelining>): VersionedReader {
  /** Those that are in use: what is kept is as much as is asked for at once. */
  const lanes = new Map<string, Lane>()
  const laneOf = (read: Read, rest: readonly Value[]): Lane => {
    const name = `${read.name} ${JSON.stringify(rest)}`
    const known = lanes.get(name)
    if (known !== undefined) return known
    const lane = new Lane(reader.pipelined?.() ?? reader, read, rest, () => lanes.delete(name))
    lanes.set(name, lane)
    return lane
  }
  return {
    read<Row>(read: Read, values: readonly Value[], signal?: Cancellation) {
      const { sharedBy } = read
      if (sharedBy === undefined) return reader.read<Row>(read, values, signal)
      const [keys, rest] = sharedBy === null ? [[], values] : [values[0] as readonly string[], values.slice(1)]
      return laneOf(read, rest).ask(keys, signal) as Promise<Versioned<Row>>
    },
  }
}

/** One who waits for rows. */
class Asked {
  readonly keys: readonly string[]
  /** Whether it was given up. */
  isLeft = false
  /** Is told then, where its read has begun. */
  onLeft: (() => void) | null = null
  #resolve: ((found: Versioned<unknown>) => void) | null = null
  #reject: ((error: unknown) => void) | null = null
  #signal: Cancellation | undefined

  constructor(keys: readonly string[], signal: Cancellation | undefined) {
    this.keys = keys
    this.#signal = signal
    signal?.addEventListener('abort', this)
  }

  answered(): Promise<Versioned<unknown>> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  resolve(found: Versioned<unknown>): void {
    this.#resolve?.(found)
    this.#end()
  }

  reject(error: unknown): void {
    this.#reject?.(error)
    this.#end()
  }

  handleEvent(): void {
    this.isLeft = true
    this.#reject?.(new ReadCancelled())
    this.onLeft?.()
  }

  /**
   * It holds nothing any more. Each request would hold those it read with, these those they read with later, and so on:
   * none would be garbage soon.
   */
  #end(): void {
    this.#signal?.removeEventListener('abort', this)
    this.#signal = undefined
    this.#resolve = this.#reject = this.onLeft = null
  }
}

/** One read with the same values, but for its keys: those who ask wait here for the next. */
class Lane {
  #waiting: Asked[] = []
  #running = 0
  #isScheduled = false

  constructor(
    readonly reader: VersionedReader,
    readonly read: Read,
    readonly rest: readonly Value[],
    readonly onIdle: () => void,
  ) {}

  ask(keys: readonly string[], signal: Cancellation | undefined): Promise<Versioned<unknown>> {
    if (signal?.aborted === true) return Promise.reject(new ReadCancelled())
    const asked = new Asked(keys, signal)
    const answered = asked.answered()
    this.#waiting.push(asked)
    this.#schedule()
    return answered
  }

  /** The next begins when all that has come by the network at once has been seen. */
  #schedule(): void {
    if (this.#waiting.length === 0 && this.#running === 0) this.onIdle()
    if (this.#waiting.length === 0 || this.#running >= mostAtOnce || this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#begin())
  }

  #begin(): void {
    this.#isScheduled = false
    this.#running++
    const together = this.#take()
    if (together.length === 0) {
      this.#running--
      return this.#schedule()
    }
    this.#schedule()
    const keys = [...new Set(together.flatMap((asked) => asked.keys))]
    const values = this.read.sharedBy === null ? this.rest : [keys, ...this.rest]
    this.reader
      .read(this.read, values, whenAllLeft(together))
      // The server is given the next read before this one's rows are made answers of.
      .finally(() => this.#end())
      .then((found) => this.#handOut(together, found))
      .catch((error: unknown) => {
        for (const asked of together) asked.reject(error)
      })
  }

  #end(): void {
    this.#running--
    if (this.#isScheduled) return
    if (this.#waiting.length > 0) this.#begin()
    else if (this.#running === 0) this.onIdle()
  }

  /** As many of those who still wait as have few enough keys together, and one at least where there is one. */
  #take(): Asked[] {
    const keys = new Set<string>()
    const most = this.read.mostShared ?? mostKeys
    // A new list each time: what is cut out of an old one stays reachable from it until the old garbage is looked for.
    const all = this.#waiting.filter(({ isLeft }) => !isLeft)
    const end = all.findIndex((asked, index) => {
      for (const key of asked.keys) keys.add(key)
      return keys.size > most && index > 0
    })
    this.#waiting = end < 0 ? [] : all.slice(end)
    return end < 0 ? all : all.slice(0, end)
  }

  #handOut(together: readonly Asked[], found: Versioned<unknown>): void {
    const { sharedBy } = this.read
    if (sharedBy == null || together.length === 1) {
      for (const asked of together) asked.resolve(found)
      return
    }
    const { rows, version } = found
    const byKey = rowsByKey(rows, sharedBy)
    for (const asked of together) asked.resolve({ rows: rowsOf(asked.keys, byKey), version })
  }
}

/** Is aborted when all who asked have given it up. */
function whenAllLeft(together: readonly Asked[]): Cancellation {
  const canceller = new Canceller()
  const check = (): void => {
    if (together.every(({ isLeft }) => isLeft)) canceller.abort()
  }
  for (const asked of together) asked.onLeft = check
  check()
  return canceller
}

function rowsByKey(rows: readonly unknown[], column: string): ReadonlyMap<string, unknown[]> {
  const byKey = new Map<string, unknown[]>()
  let newest: { readonly key: string; readonly rows: unknown[] } | undefined
  for (const row of rows) {
    const key = (row as Readonly<Record<string, string>>)[column] ?? ''
    // Those of one key stand together, mostly: to compare two keys is cheaper than to look one up.
    if (key !== newest?.key) {
      newest = { key, rows: byKey.get(key) ?? [] }
      byKey.set(key, newest.rows)
    }
    newest.rows.push(row)
  }
  return byKey
}

function rowsOf(keys: readonly string[], byKey: ReadonlyMap<string, unknown[]>): unknown[] {
  const [key, ...others] = keys
  // What belongs to one key is read, and not written to, by all who asked for it.
  if (key !== undefined && others.length === 0) return byKey.get(key) ?? []
  return keys.flatMap((each) => byKey.get(each) ?? [])
}
