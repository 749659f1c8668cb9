import { setImmediate as nextIteration } from 'node:timers/promises'

/** Items between two iterations of the event loop: decoding a log takes some 0.05 ms. */
const itemsAtOnce = 100

/** Groups items by a key, in the order of their first occurrence. */
export function groupBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return groups
}

/**
 * Splits a list into chunks.
 * @param size maximum number of items in a chunk
 */
export function inChunks<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}

/**
 * Calls a function with each group in order, and yields to the event loop after some items: the reader shares the main
 * thread with the server, and others determine the number of logs.
 */
export async function forEachYielding<Item>(
  groups: Iterable<readonly Item[]>,
  work: (group: readonly Item[]) => void,
): Promise<void> {
  let items = 0
  for (const group of groups) {
    work(group)
    items += group.length
    if (items < itemsAtOnce) continue
    await nextIteration()
    items = 0
  }
}
