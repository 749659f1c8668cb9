import { ReadCancelled, throwIfCancelled } from './cancelled.ts'
import type { Read, Reader, Value } from './database.ts'

/** So many keys make a read long enough that more of them would only make everybody wait; fewer where each has many rows. */
const mostKeys = 100
/** While the answer of one is taken apart, the server is at the next; more would only be smaller. */
const mostAtOnce = 2

/**
 * Makes one read of what several requests ask for at once, where the read may be shared: under load each serves as many
 * as came while those before it ran. A read begins after it was asked for, so that nobody is told what was before. One
 * who gives it up no longer waits for it; the others do, and with the last of them it is given up itself.
 */
export function sharingReads(reader: Reader): Reader {
  const lanes = new Map<string, Lane>()
  return {
    query: async <Row>(read: Read, values: readonly Value[], signal?: AbortSignal) => {
      const { sharedBy } = read
      if (sharedBy === undefined) return reader.query<Row>(read, values, signal)
      throwIfCancelled(signal)
      const [keys, rest] = sharedBy === null ? [[], values] : [values[0] as readonly string[], values.slice(1)]
      const name = `${read.name} ${JSON.stringify(rest)}`
      const lane = lanes.get(name) ?? new Lane(reader, read, rest, () => lanes.delete(name))
      lanes.set(name, lane)
      return lane.ask(keys, signal) as Promise<Row[]>
    },
  }
}

interface Asked {
  readonly keys: readonly string[]
  readonly resolve: (rows: unknown[]) => void
  readonly reject: (error: unknown) => void
  /** Whether it was given up. */
  isLeft: boolean
  /** Is told then, where its read has begun. */
  onLeft?: () => void
}

/** One read with the same values, but for its keys: those who ask wait here for the next. */
class Lane {
  readonly #waiting: Asked[] = []
  #running = 0
  #isScheduled = false

  constructor(
    readonly reader: Reader,
    readonly read: Read,
    readonly rest: readonly Value[],
    readonly onIdle: () => void,
  ) {}

  ask(keys: readonly string[], signal: AbortSignal | undefined): Promise<unknown[]> {
    return new Promise((resolve, reject) => {
      const asked: Asked = { keys, resolve, reject, isLeft: false }
      const leave = (): void => {
        asked.isLeft = true
        reject(new ReadCancelled(signal?.reason))
        asked.onLeft?.()
      }
      // It goes with its signal, which is a request's own.
      signal?.addEventListener('abort', leave, { once: true })
      this.#waiting.push(asked)
      this.#schedule()
    })
  }

  /** The next begins when all that has come by the network at once has been seen. */
  #schedule(): void {
    if (this.#waiting.length === 0 && this.#running === 0) this.onIdle()
    if (this.#waiting.length === 0 || this.#running >= mostAtOnce || this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => void this.#begin())
  }

  async #begin(): Promise<void> {
    this.#isScheduled = false
    this.#running++
    const together = this.#take()
    this.#schedule()
    try {
      const keys = [...new Set(together.flatMap((asked) => asked.keys))]
      const values = this.read.sharedBy === null ? this.rest : [keys, ...this.rest]
      this.#handOut(together, await this.reader.query(this.read, values, whenAllLeft(together)))
    } catch (error) {
      for (const { reject } of together) reject(error)
    } finally {
      this.#running--
      this.#schedule()
    }
  }

  /** As many of those who wait as have few enough keys together, and one at least. */
  #take(): Asked[] {
    let keys = 0
    const most = this.read.mostShared ?? mostKeys
    const end = this.#waiting.findIndex((asked, index) => (keys += asked.keys.length) > most && index > 0)
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end)
  }

  #handOut(together: readonly Asked[], rows: unknown[]): void {
    const { sharedBy } = this.read
    if (sharedBy == null || together.length === 1) {
      for (const { resolve } of together) resolve(rows)
      return
    }
    const byKey = rowsByKey(rows, sharedBy)
    for (const { keys, resolve } of together) resolve(keys.flatMap((key) => byKey.get(key) ?? []))
  }
}

/** Is aborted when all who asked have given it up. */
function whenAllLeft(together: readonly Asked[]): AbortSignal {
  const controller = new AbortController()
  const check = (): void => {
    if (together.every(({ isLeft }) => isLeft)) controller.abort()
  }
  for (const asked of together) asked.onLeft = check
  check()
  return controller.signal
}

function rowsByKey(rows: readonly unknown[], column: string): ReadonlyMap<string, unknown[]> {
  const byKey = new Map<string, unknown[]>()
  for (const row of rows) {
    const key = (row as Readonly<Record<string, string>>)[column] ?? ''
    const ofKey = byKey.get(key)
    if (ofKey === undefined) byKey.set(key, [row])
    else ofKey.push(row)
  }
  return byKey
}
