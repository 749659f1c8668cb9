import { LRUCache } from 'lru-cache'
import type { Answer } from '../../rest/problem.ts'
import { CachedResponse } from './cached-response.ts'
import { TagHistory } from './tag-history.ts'

/** An answer, and what it was made from; null where it isn't to be kept. */
export interface Made {
  readonly answer: Answer
  readonly sources: ReadonlySet<string> | null
}

/** Is told how to give up where the client leaves. */
export type OnLeave = (giveUp: () => void) => void

/** What operators want to know. */
export interface CacheFigures {
  readonly hits: number
  readonly misses: number
  /** Answers that were dropped since something they were made from had changed. */
  readonly dropped: number
  readonly entries: number
  readonly bytes: number
}

export interface ResponseCache {
  /** The answer with this key: one that is kept, one in the making, or a new one. A null key is never shared. */
  answer(
    key: string | null,
    onLeave: OnLeave,
    make: (onLeave: OnLeave) => Promise<Made>,
  ): CachedResponse | Promise<CachedResponse>
  /** Serves no more what was made from what the commit changed, and lets nobody join what was begun before. */
  committed(commit: { readonly tags: readonly string[] }): void
  /** Nothing is kept or served from the cache while commits aren't heard of. */
  listening(isListening: boolean): void
  figures(): CacheFigures
}

/** An answer that one or more clients wait for. */
interface Run {
  readonly finished: Promise<CachedResponse>
  readonly waiting: Waiting
}

/** What an entry takes beside its body; its packed forms together take no more than the body itself. */
const overheadBytes = 1_000
/** What a tag takes: an address, and its place in a list. */
const tagBytes = 100

interface Entry {
  readonly finished: CachedResponse
  readonly tags: readonly string[]
  /** The newest commit when it was begun. */
  readonly begunAt: number
}

/**
 * Finished answers, bound in bytes, each kept until something changes that it was made from.
 * @param bytes 0 keeps none
 */
export function createResponseCache(bytes: number): ResponseCache {
  const runs = new Map<string, Run>()
  const history = new TagHistory()
  const counts = { hits: 0, misses: 0, dropped: 0 }
  let isKeeping = false

  const kept = new LRUCache<string, Entry>({
    maxSize: Math.max(1, bytes),
    sizeCalculation: ({ finished, tags }, key) =>
      2 * finished.bytes.length + 2 * key.length + tagBytes * tags.length + overheadBytes,
  })

  /** The entry with this key, where nothing has changed that it was made from. */
  function current(key: string): Entry | undefined {
    const entry = kept.get(key)
    if (entry === undefined || history.isUnchanged(entry.tags, entry.begunAt)) return entry
    kept.delete(key)
    counts.dropped++
    return undefined
  }

  async function finish(key: string, making: Promise<Made>): Promise<CachedResponse> {
    const begunAt = history.now
    const { answer, sources } = await making
    const finished = new CachedResponse(answer)
    const tags = sources && [...sources]
    const stands = tags !== null && isKeeping && history.isUnchanged(tags, begunAt)
    if (stands && answer.status === 200) kept.set(key, { finished, tags, begunAt })
    return finished
  }

  function begin(key: string, make: (onLeave: OnLeave) => Promise<Made>): Run {
    const close = (): void => {
      if (runs.get(key) === run) runs.delete(key)
    }
    const waiting = new Waiting()
    const making = make((giveUp) => {
      waiting.giveUp = () => {
        close()
        giveUp()
      }
    })
    const run = { finished: finish(key, making).finally(close), waiting }
    runs.set(key, run)
    return run
  }

  return {
    answer(key, onLeave, make) {
      if (key === null || !isKeeping) return make(onLeave).then(({ answer }) => new CachedResponse(answer))
      const entry = current(key)
      counts[entry === undefined ? 'misses' : 'hits']++
      if (entry !== undefined) return entry.finished
      const run = runs.get(key) ?? begin(key, make)
      run.waiting.join(onLeave)
      return run.finished
    },

    committed({ tags }) {
      history.change(tags)
      runs.clear()
    },

    listening(isListening) {
      isKeeping = isListening && bytes > 0
      history.forget()
      runs.clear()
      kept.clear()
    },

    figures: () => ({ ...counts, entries: kept.size, bytes: kept.calculatedSize }),
  }
}

/** Those who wait for one answer: it is given up when all of them have left. */
class Waiting {
  giveUp: () => void = () => undefined
  #count = 0

  join(onLeave: OnLeave): void {
    this.#count++
    onLeave(() => {
      if (--this.#count === 0) this.giveUp()
    })
  }
}
