import DataLoader from 'dataloader'
import type { Reader } from '../../database/database.ts'
import type { ResolverContext } from './context.ts'

/** Reads the values of these keys; a key without a value may be absent from the result, a failed key has its error. */
export type BatchRead<Key, Args, Value> = (
  reader: Reader,
  keys: readonly Key[],
  args: Args,
) => Promise<ReadonlyMap<Key, Value | Error>>

/** Loads the value of one key; concurrent loads of one request with equal arguments are batched into one read. */
export type Load<Key, Args, Value> = (context: ResolverContext, key: Key, args: Args) => Promise<Value | undefined>

/**
 * Creates a batching loader (DataLoader).
 * @param name of the loader in the metrics; null if it has only one key
 */
export function createLoader<Key, Args, Value>(
  name: string | null,
  read: BatchRead<Key, Args, Value>,
): Load<Key, Args, Value> {
  type ByArgs = Map<string, DataLoader<Key, Value | undefined>>

  async function readBatch(
    { reader, observer }: ResolverContext,
    keys: readonly Key[],
    args: Args,
  ): Promise<(Value | Error | undefined)[]> {
    if (name !== null) observer.onLoad?.(name, keys.length)
    const results: (Value | Error | undefined)[] = []
    try {
      const values = await read(reader, keys, args)
      for (const key of keys) results.push(values.get(key))
      return results
    } catch (error) {
      // DataLoader does not cache the rejection of a batch: a later load would read again.
      return keys.map(() => (error instanceof Error ? error : new Error(String(error))))
    }
  }

  return (context, key, args) => {
    const byArgs = (context.loaders.get(read) as ByArgs | undefined) ?? (new Map() as ByArgs)
    context.loaders.set(read, byArgs)
    const argsText = JSON.stringify(args)
    const loader =
      byArgs.get(argsText) ?? new DataLoader<Key, Value | undefined>((keys) => readBatch(context, keys, args))
    byArgs.set(argsText, loader)
    return loader.load(key)
  }
}

/** The only key of a loader without keys. */
const whole = 'whole'

/**
 * Creates a loader of a value without a key; concurrent loads of one request with equal arguments share one read, also
 * if it fails.
 */
export function createWholeLoader<Args, Value>(
  read: (reader: Reader, args: Args) => Promise<Value>,
): (context: ResolverContext, args: Args) => Promise<Value> {
  const load = createLoader<typeof whole, Args, { readonly value: Value }>(
    null,
    async (reader, _, args) => new Map([[whole, { value: await read(reader, args) }]]),
  )
  return async (context, args) => ((await load(context, whole, args)) as { readonly value: Value }).value
}

/** Groups rows by key, in the given order; a key without rows has an empty list. */
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
