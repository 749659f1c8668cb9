import { setTimeout as wait } from 'node:timers/promises'
import type { Line } from '../reading/lines.ts'

/** Pause of a source after which the lines that have come so far are applied. */
const pauseMilliseconds = 20

/**
 * Joins the lists of lines of a source into longer ones, as long as it brings them without a pause. The next list is gathered
 * while the caller works on one.
 * @param maxLines lines from which on a list is complete
 */
export async function* gathered(lists: AsyncIterable<Line[]>, maxLines: number): AsyncGenerator<Line[]> {
  const iterator = lists[Symbol.asyncIterator]()
  const read = (): Promise<Read> => {
    const next = iterator.next()
    return next.then(
      ({ done, value }) => (done === true ? { end: next } : { lines: value }),
      () => ({ end: next }),
    )
  }
  let reading = read()
  const gather = async (): Promise<Gathered> => {
    const lines: Line[] = []
    for (;;) {
      const result = lines.length === 0 ? await reading : await Promise.race([reading, pause()])
      if (result === 'pause') return { lines, end: null }
      if ('end' in result) return { lines, end: result.end }
      for (const line of result.lines) lines.push(line)
      reading = read()
      if (lines.length >= maxLines) return { lines, end: null }
    }
  }
  for (let next = gather(); ;) {
    const { lines, end } = await next
    if (end === null) next = gather()
    if (lines.length > 0) yield lines
    if (end === null) continue
    // Rejects where the source has failed.
    await end
    return
  }
}

/** Lines that a source brought, or the promise with which it ended. */
type Read = { readonly lines: Line[] } | { readonly end: Promise<unknown> }

interface Gathered {
  readonly lines: Line[]
  /** Null where the source goes on. */
  readonly end: Promise<unknown> | null
}

async function pause(): Promise<'pause'> {
  await wait(pauseMilliseconds)
  return 'pause'
}
