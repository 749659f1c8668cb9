import DataLoader from 'dataloader'
import type { Reader } from '../../database/database.ts'
import type { Context } from './context.ts'

/** Reads what belongs to each of these keys; a key may be missing from the answer. */
export type BatchRead<Key, Args, Value> = (
  database: Reader,
  keys: readonly Key[],
  args: Args,
) => Promise<ReadonlyMap<Key, Value>>

/** Loads what belongs to one key; what one request asks for at once, with equal arguments, is one read. */
export type Load<Key, Args, Value> = (context: Context, key: Key, args: Args) => Promise<Value | undefined>

/** @param name of what it loads, that its batches are counted under; null where there is one key only */
export function createLoader<Key, Args, Value>(
  name: string | null,
  read: BatchRead<Key, Args, Value>,
): Load<Key, Args, Value> {
  type ByArgs = Map<string, DataLoader<Key, Value | undefined>>
  return (context, key, args) => {
    const byArgs = getOrAdd(context.loaders, read, () => new Map()) as ByArgs
    const dataLoader = getOrAdd(byArgs, JSON.stringify(args), () => {
      return new DataLoader<Key, Value | undefined>((keys) => {
        if (name !== null) context.onBatch?.(name, keys.length)
        return read(context.database, keys, args).then(
          (values) => keys.map((wanted) => values.get(wanted)),
          // What a batch throws is forgotten, and would be read again by who asks again.
          (error: unknown) => keys.map(() => (error instanceof Error ? error : new Error(String(error)))),
        )
      })
    })
    return dataLoader.load(key)
  }
}

/** The key of what has none. */
const whole = 'whole'

/** Loads what belongs to no key; what one request asks for with equal arguments is one read, and fails once. */
export function createWholeLoader<Args, Value>(
  read: (database: Reader, args: Args) => Promise<Value>,
): (context: Context, args: Args) => Promise<Value> {
  const load = createLoader<typeof whole, Args, { readonly value: Value }>(
    null,
    async (database, _, args) => new Map([[whole, { value: await read(database, args) }]]),
  )
  return async (context, args) => ((await load(context, whole, args)) as { readonly value: Value }).value
}

/** Rows of these keys by what they belong to, in their order; a key without rows has an empty list. */
export function groupRowsByKey<Row, Key>(
  keys: readonly Key[],
  rows: readonly Row[],
  keyOf: (row: Row) => Key,
): ReadonlyMap<Key, readonly Row[]> {
  const [only, ...others] = keys
  if (only !== undefined && others.length === 0) return new Map([[only, rows]])
  const groups = new Map<Key, Row[]>(keys.map((key) => [key, []]))
  for (const row of rows) groups.get(keyOf(row))?.push(row)
  return groups
}

interface Store<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): unknown
}

function getOrAdd<Key, Value>(store: Store<Key, Value>, key: Key, make: () => Value): Value {
  const there = store.get(key)
  if (there !== undefined) return there
  const made = make()
  store.set(key, made)
  return made
}
