import { setImmediate as nextIteration, setTimeout as wait } from 'node:timers/promises'

/** Pause of a source that completes a list. */
const pauseMilliseconds = 20

/**
 * Gathers the items of a source into lists: a list ends at a pause or at its full size. The next list is gathered while
 * the caller works on one.
 * @param sizeOf size of an item
 * @param fullSize size from which on a list is complete
 */
export async function* listsUntilPause<Item>(
  items: AsyncIterable<Item>,
  sizeOf: (item: Item) => number,
  fullSize: number,
): AsyncGenerator<Item[]> {
  const iterator = items[Symbol.asyncIterator]()
  const read = (): Promise<Read<Item>> => {
    const next = iterator.next()
    return next.then(
      ({ done, value }) => (done === true ? { end: next } : { item: value }),
      () => ({ end: next }),
    )
  }
  let reading = read()
  const gather = async (): Promise<Gathered<Item>> => {
    const list: Item[] = []
    for (let size = 0; size < fullSize;) {
      const result = list.length === 0 ? await reading : await Promise.race([reading, pause()])
      if (result === 'pause') return { list, end: null }
      if ('end' in result) return { list, end: result.end }
      list.push(result.item)
      size += sizeOf(result.item)
      reading = read()
    }
    return { list, end: null }
  }
  for (let next = gather(); ;) {
    const { list, end } = await next
    if (end === null) next = gather()
    if (list.length > 0) yield list
    if (end === null) continue
    // Rejects where the source has failed.
    await end
    return
  }
}

/** An item of a source, or the promise with which the source ended. */
type Read<Item> = { readonly item: Item } | { readonly end: Promise<unknown> }

interface Gathered<Item> {
  readonly list: Item[]
  /** Null where the source has not ended. */
  readonly end: Promise<unknown> | null
}

/** Waits for a pause, and one more iteration of the event loop: items that arrived while the process was busy come after timers. */
async function pause(): Promise<'pause'> {
  await wait(pauseMilliseconds)
  await nextIteration()
  return 'pause'
}
