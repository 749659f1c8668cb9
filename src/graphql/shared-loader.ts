import DataLoader from 'dataloader'
import type { Origin, Reader } from '../database/database.ts'
import type { Context, OnBatch } from './context.ts'
import { type BatchRead, getOrAdd, type Load } from './loader.ts'

/** So many keys make a read long enough that more of them would only make everybody wait. */
const mostKeys = 100

/** While one is on its way, the next one's answer is read; more would only be smaller. */
const mostAtOnce = 2

/**
 * Loads what belongs to one key, as `loader` does, and what several requests ask for at once is one read too: under load
 * a read serves as many as have come while those before it ran, and is given up when all of them are. A read begins after
 * it was asked for, so that nobody is told what was before.
 * @param name of what it loads, that its batches are counted under; null where there is one key only
 */
export function sharedLoader<Key extends string, Args, Value>(
  name: string | null,
  read: BatchRead<Key, Args, Value>,
): Load<Key, Args, Value> {
  const ofDatabase = new WeakMap<Reader, Map<string, DataLoader<Wanted<Key>, Loaded<Value>>>>()
  const ofRequest = new WeakMap<Context, Map<string, Map<Key, Promise<Value | undefined>>>>()

  const shared = (context: Context, argsText: string, args: Args): DataLoader<Wanted<Key>, Loaded<Value>> => {
    const { shared: database, onBatch } = context
    const byArgs = getOrAdd(ofDatabase, database, () => new Map<string, DataLoader<Wanted<Key>, Loaded<Value>>>())
    return getOrAdd(byArgs, argsText, () =>
      batching(database, args, counting(read, name, onBatch), () => byArgs.delete(argsText)),
    )
  }

  return (context, key, args) => {
    const argsText = JSON.stringify(args)
    const byArgs = getOrAdd(ofRequest, context, () => new Map<string, Map<Key, Promise<Value | undefined>>>())
    const known = getOrAdd(byArgs, argsText, () => new Map<Key, Promise<Value | undefined>>())
    return getOrAdd(known, key, async () => {
      const { value, origins } = await shared(context, argsText, args).load({ key, signal: context.signal })
      for (const origin of origins) context.note(origin === 'named vaults' ? key : origin)
      return value
    })
  }
}

/** A key that a request wants. */
interface Wanted<Key> {
  readonly key: Key
  /** Gives the request up. */
  readonly signal: AbortSignal | undefined
}

/** What was read for a key, and what it was made from. */
interface Loaded<Value> {
  readonly value: Value | undefined
  readonly origins: ReadonlySet<Origin>
}

/** The key of what has none. */
const whole = 'whole'

/** The same of what belongs to no key. */
export function sharedRead<Args, Value>(
  read: (database: Reader, args: Args) => Promise<Value>,
): (context: Context, args: Args) => Promise<Value> {
  const load = sharedLoader<typeof whole, Args, { readonly value: Value }>(
    null,
    async (database, _, args) => new Map([[whole, { value: await read(database, args) }]]),
  )
  return async (context, args) => ((await load(context, whole, args)) as { readonly value: Value }).value
}

/** The same read, whose keys are counted. */
function counting<Key, Args, Value>(
  read: BatchRead<Key, Args, Value>,
  name: string | null,
  onBatch: OnBatch | undefined,
): BatchRead<Key, Args, Value> {
  if (name === null || onBatch === undefined) return read
  return (database, keys, args) => {
    onBatch(name, keys.length)
    return read(database, keys, args)
  }
}

/** @param onIdle is told when nothing is asked of it any more */
function batching<Key, Args, Value>(
  database: Reader,
  args: Args,
  read: BatchRead<Key, Args, Value>,
  onIdle: () => void,
): DataLoader<Wanted<Key>, Loaded<Value>> {
  const waiting: (() => void)[] = []
  let running = 0

  const next = (): void => {
    const dispatch = waiting.shift()
    running--
    if (dispatch !== undefined) begin(dispatch)
    else if (running === 0) onIdle()
  }
  /** Once all that has come by the network at once has been seen. */
  const begin = (dispatch: () => void): void => {
    running++
    setImmediate(dispatch)
  }

  return new DataLoader<Wanted<Key>, Loaded<Value>>(
    async (wanted) => {
      try {
        const origins = new Set<Origin>()
        const reader = noting(database, origins, whenAllLeft(wanted.map(({ signal }) => signal)))
        const values = await read(reader, [...new Set(wanted.map(({ key }) => key))], args)
        return wanted.map(({ key }) => ({ value: values.get(key), origins }))
      } finally {
        next()
      }
    },
    {
      // What was read once may have changed since.
      cache: false,
      maxBatchSize: mostKeys,
      batchScheduleFn: (dispatch) => {
        if (running < mostAtOnce) begin(dispatch)
        else waiting.push(dispatch)
      },
    },
  )
}

/** Is aborted when all of these are. */
function whenAllLeft(signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  const controller = new AbortController()
  let left = 0
  const leave = (): void => {
    if (++left === signals.length) controller.abort()
  }
  for (const signal of signals) {
    if (signal?.aborted === true) leave()
    else signal?.addEventListener('abort', leave, { once: true })
  }
  return controller.signal
}

function noting(database: Reader, origins: Set<Origin>, signal: AbortSignal): Reader {
  return {
    query: (read, values) => {
      origins.add(read.from)
      return database.query(read, values, signal)
    },
  }
}
