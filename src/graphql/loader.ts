import DataLoader from 'dataloader'
import type { Reader } from '../database/database.ts'
import type { Context } from './context.ts'

/** Reads what belongs to each of these keys; a key may be missing from the answer. */
export type BatchRead<Key, Args, Value> = (
  database: Reader,
  keys: readonly Key[],
  args: Args,
) => Promise<ReadonlyMap<Key, Value>>

/** Loads what belongs to one key; what one request asks for at once, with equal arguments, is one read. */
export type Load<Key, Args, Value> = (context: Context, key: Key, args: Args) => Promise<Value | undefined>

/** @param name of what it loads, that its batches are counted under */
export function loader<Key, Args, Value>(name: string, read: BatchRead<Key, Args, Value>): Load<Key, Args, Value> {
  const ofRequest = new WeakMap<Context, Map<string, DataLoader<Key, Value | undefined>>>()
  return (context, key, args) => {
    const byArgs = getOrAdd(ofRequest, context, () => new Map<string, DataLoader<Key, Value | undefined>>())
    const dataLoader = getOrAdd(byArgs, JSON.stringify(args), () => {
      return new DataLoader<Key, Value | undefined>((keys) => {
        context.onBatch?.(name, keys.length)
        return read(context.database, keys, args).then(
          (values) => keys.map((wanted) => values.get(wanted)),
          // What a batch throws is forgotten, and would be read again where a request is executed anew for its errors.
          (error: unknown) => keys.map(() => (error instanceof Error ? error : new Error(String(error)))),
        )
      })
    })
    return dataLoader.load(key)
  }
}

/** Rows by what they belong to, in their order; a key without rows has an empty list. */
export function groupBy<Row, Key>(
  keys: readonly Key[],
  rows: readonly Row[],
  keyOf: (row: Row) => Key,
): ReadonlyMap<Key, Row[]> {
  const groups = new Map<Key, Row[]>(keys.map((key) => [key, []]))
  for (const row of rows) groups.get(keyOf(row))?.push(row)
  return groups
}

interface Store<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): unknown
}

/** What is there under a key, made where it is missing. */
export function getOrAdd<Key, Value>(store: Store<Key, Value>, key: Key, make: () => Value): Value {
  const there = store.get(key)
  if (there !== undefined) return there
  const made = make()
  store.set(key, made)
  return made
}
