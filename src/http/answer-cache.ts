import { LRUCache } from 'lru-cache'
import type { Answer } from './exchange.ts'
import { Finished } from './finished.ts'

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

export interface AnswerCache {
  /** The answer with this key: one that is kept, one in the making, or a new one. A null key is never shared. */
  answer(key: string | null, onLeave: OnLeave, make: (onLeave: OnLeave) => Promise<Made>): Finished | Promise<Finished>
  /** Drops what was made from any of these, and lets nobody join what was begun before. */
  changed(sources: readonly string[]): void
  /** Nothing is kept or served from the cache while changes aren't heard of. */
  listening(isListening: boolean): void
  figures(): CacheFigures
}

/** An answer that one or more clients wait for. */
interface Run {
  readonly finished: Promise<Finished>
  readonly waiting: Waiting
}

/** What an entry takes beside its body; its packed forms together take no more than the body itself. */
const overheadBytes = 1_000

interface Entry {
  readonly finished: Finished
  readonly sources: ReadonlySet<string>
}

/**
 * Finished answers, bound in bytes, each kept until something changes that it was made from.
 * @param bytes 0 keeps none
 */
export function createAnswerCache(bytes: number): AnswerCache {
  const bySource = new Map<string, Set<string>>()
  const runs = new Map<string, Run>()
  /** What has changed since each of the answers in the making was begun. */
  const changedSince = new Set<Set<string>>()
  const counts = { hits: 0, misses: 0, dropped: 0 }
  /** Which uninterrupted time of listening it is; null while there is none. */
  let period: object | null = null

  const kept = new LRUCache<string, Entry>({
    maxSize: Math.max(1, bytes),
    sizeCalculation: ({ finished }, key) => 2 * finished.bytes.length + 2 * key.length + overheadBytes,
    dispose: ({ sources }, key) => {
      for (const source of sources) forget(source, key)
    },
  })

  function forget(source: string, key: string): void {
    const keys = bySource.get(source)
    keys?.delete(key)
    if (keys?.size === 0) bySource.delete(source)
  }

  function keep(key: string, entry: Entry): void {
    kept.set(key, entry)
    if (!kept.has(key)) return
    for (const source of entry.sources) {
      const keys = bySource.get(source) ?? new Set()
      bySource.set(source, keys.add(key))
    }
  }

  async function finish(key: string, making: Promise<Made>): Promise<Finished> {
    const begun = period
    const changed = new Set<string>()
    changedSince.add(changed)
    try {
      const { answer, sources } = await making
      const finished = new Finished(answer)
      const stands = sources !== null && begun !== null && begun === period && !meet(changed, sources)
      if (stands && answer.status === 200) keep(key, { finished, sources })
      return finished
    } finally {
      changedSince.delete(changed)
    }
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
      if (key === null || period === null) return make(onLeave).then(({ answer }) => new Finished(answer))
      const entry = kept.get(key)
      counts[entry === undefined ? 'misses' : 'hits']++
      if (entry !== undefined) return entry.finished
      const run = runs.get(key) ?? begin(key, make)
      run.waiting.join(onLeave)
      return run.finished
    },

    changed(sources) {
      for (const changed of changedSince) for (const source of sources) changed.add(source)
      runs.clear()
      const keys = new Set(sources.flatMap((source) => [...(bySource.get(source) ?? [])]))
      for (const key of keys) kept.delete(key)
      counts.dropped += keys.size
    },

    listening(isListening) {
      period = isListening && bytes > 0 ? {} : null
      runs.clear()
      kept.clear()
      bySource.clear()
    },

    figures: () => ({ ...counts, entries: kept.size, bytes: kept.calculatedSize }),
  }
}

function meet(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  for (const each of some) if (others.has(each)) return true
  return false
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
