import { type Cancellation, Canceller } from '../cancellation.ts'
import { ReadCancelled } from '../errors.ts'
import type { AnyStatement, Batching, StatementReader, Value, Versioned } from '../database.ts'

/** Default number of keys in a statement: a longer one would delay all of its requests, and block an embedded database. */
export const defaultMaxKeys = 100
/** One batch is decoded while the server runs the next and has one more queued; more would only make batches smaller. */
const maxConcurrentBatches = 3

/** A reader that may be able to pipeline reads on one connection. */
export interface PipeliningReader extends StatementReader {
  /** Returns a reader that sends each read while earlier ones still run. */
  readonly pipelined?: () => StatementReader
}

/**
 * Combines concurrent reads of one kind into one statement. While three batches run, new requests wait for the next, so
 * that batches grow with the load. A request never joins a statement that has started, so its rows are never older than
 * the request. A cancelled request stops waiting; the statement is cancelled with the last of its requests.
 * @returns a reader for which `deduplicated` and `keyed` reads are batched, and others are passed through
 */
export function batchReads(next: PipeliningReader): StatementReader {
  /** The queues in use. An idle queue is removed, so that memory is bounded by the requests in flight. */
  const queues = new Map<string, BatchQueue>()
  return {
    read<Row>(read: AnyStatement, values: readonly Value[], signal?: Cancellation) {
      const { batching } = read
      if (batching === undefined) return next.read<Row>(read, values, signal)
      const isKeyed = batching.kind === 'keyed'
      const [keys, rest] = isKeyed ? [values[0] as readonly string[], values.slice(1)] : [[], values]
      const name = rest.length === 0 ? read.name : `${read.name} ${JSON.stringify(rest)}`
      let queue = queues.get(name)
      if (queue === undefined) {
        queue = new BatchQueue(next.pipelined?.() ?? next, read, batching, rest, name, queues)
        queues.set(name, queue)
      }
      return queue.add(keys, signal) as Promise<Versioned<Row>>
    },
  }
}

/** A batch in flight: it is cancelled when all of its requests are. */
interface BatchInFlight {
  readonly canceller: Canceller
  /** Number of requests that are not cancelled. */
  waiting: number
}

/** A request for the rows of some keys, which waits for its batch. */
class BatchedRequest {
  readonly keys: readonly string[]
  isCancelled = false
  batch: BatchInFlight | null = null
  #resolve: ((result: Versioned<unknown>) => void) | null
  #reject: ((error: unknown) => void) | null
  #signal: Cancellation | undefined

  constructor(
    keys: readonly string[],
    signal: Cancellation | undefined,
    resolve: (result: Versioned<unknown>) => void,
    reject: (error: unknown) => void,
  ) {
    this.keys = keys
    this.#signal = signal
    this.#resolve = resolve
    this.#reject = reject
    signal?.addEventListener('abort', this)
  }

  /**
   * Settles the request, once, and drops all references. Requests of a batch reference each other: chains of batches would
   * stay reachable for long.
   */
  settle(read: PromiseSettledResult<Versioned<unknown>>): void {
    if (read.status === 'fulfilled') this.#resolve?.(read.value)
    else this.#reject?.(read.reason)
    this.#signal?.removeEventListener('abort', this)
    this.#signal = undefined
    this.#resolve = this.#reject = this.batch = null
  }

  /** Called when the request is cancelled. */
  handleEvent(): void {
    const { batch } = this
    this.isCancelled = true
    this.settle({ status: 'rejected', reason: new ReadCancelled() })
    if (batch !== null && --batch.waiting === 0) batch.canceller.abort()
  }
}

/** The requests for one statement with the same values except keys: they wait here for the next batch. */
class BatchQueue {
  #waiting: BatchedRequest[] = []
  #running = 0
  #isScheduled = false

  constructor(
    readonly reader: StatementReader,
    readonly statement: AnyStatement,
    readonly batching: Batching,
    readonly rest: readonly Value[],
    readonly name: string,
    /** The queues in use, by name: an idle queue removes itself. */
    readonly queues: Map<string, BatchQueue>,
  ) {}

  add(keys: readonly string[], signal: Cancellation | undefined): Promise<Versioned<unknown>> {
    if (signal?.aborted === true) return Promise.reject(new ReadCancelled())
    const result = new Promise<Versioned<unknown>>((resolve, reject) => {
      this.#waiting.push(new BatchedRequest(keys, signal, resolve, reject))
    })
    this.#schedule()
    return result
  }

  /** Starts the next batch once the event loop has handled all input that arrived together. */
  #schedule(): void {
    if (this.#isScheduled || this.#running >= maxConcurrentBatches) return
    this.#isScheduled = true
    setImmediate(this.#start)
  }

  readonly #start = (): void => {
    this.#isScheduled = false
    const batch = this.#takeBatch()
    if (batch.length > 0) void this.#run(batch)
    if (this.#waiting.length > 0) this.#schedule()
    else if (this.#running === 0) this.queues.delete(this.name)
  }

  /** Removes the first requests that are not cancelled and together have at most `maxKeys` keys, but at least one. */
  #takeBatch(): BatchedRequest[] {
    const maxKeys = this.statement.maxKeys ?? defaultMaxKeys
    const keys = new Set<string>()
    const all = this.#waiting
    const batch: BatchedRequest[] = []
    // A new array each time: an old-generation array would keep removed elements alive until a major collection.
    this.#waiting = []
    for (const [index, request] of all.entries()) {
      if (request.isCancelled) continue
      for (const key of request.keys) keys.add(key)
      if (keys.size > maxKeys && batch.length > 0) {
        this.#waiting = all.slice(index)
        break
      }
      batch.push(request)
    }
    return batch
  }

  async #run(batch: readonly BatchedRequest[]): Promise<void> {
    const inFlight = { canceller: new Canceller(), waiting: batch.length }
    const keys = new Set<string>()
    for (const request of batch) {
      request.batch = inFlight
      for (const key of request.keys) keys.add(key)
    }
    const values = this.batching.kind === 'keyed' ? [[...keys], ...this.rest] : this.rest
    this.#running++
    const [read] = await Promise.allSettled([this.reader.read(this.statement, values, inFlight.canceller)])
    this.#running--
    // Sends the next batch before this one's rows are processed, so that the server is never idle.
    if (!this.#isScheduled) this.#start()
    if (read.status === 'fulfilled' && batch.length > 1 && this.batching.kind === 'keyed')
      settleEach(batch, read.value, this.batching.keyProperty)
    else for (const request of batch) request.settle(read)
  }
}

/** Settles each request of a batch with the rows of its own keys. */
function settleEach(
  batch: readonly BatchedRequest[],
  { rows, version }: Versioned<unknown>,
  keyProperty: string,
): void {
  const byKey = groupByKey(rows, keyProperty)
  for (const request of batch)
    request.settle({ status: 'fulfilled', value: { rows: rowsOfKeys(request.keys, byKey), version } })
}

function groupByKey(rows: readonly unknown[], keyProperty: string): ReadonlyMap<string, unknown[]> {
  const byKey = new Map<string, unknown[]>()
  let newest: { readonly key: string; readonly rows: unknown[] } | undefined
  for (const row of rows) {
    const key = (row as Readonly<Record<string, string>>)[keyProperty] ?? ''
    // Rows of one key are mostly adjacent, and comparing two keys is cheaper than a lookup.
    if (key !== newest?.key) {
      newest = { key, rows: byKey.get(key) ?? [] }
      byKey.set(key, newest.rows)
    }
    newest.rows.push(row)
  }
  return byKey
}

function rowsOfKeys(keys: readonly string[], byKey: ReadonlyMap<string, unknown[]>): unknown[] {
  const [key, ...others] = keys
  // Requests for the same key share one array: readers must not modify it.
  if (key !== undefined && others.length === 0) return byKey.get(key) ?? []
  return keys.flatMap((each) => byKey.get(each) ?? [])
}
