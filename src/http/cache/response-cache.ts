import { LRUCache } from 'lru-cache'
import type { EncodedResponse } from './encoded-response.ts'
import { sharedMilliseconds, within } from '../async/within.ts'
import { TagHistory } from './tag-history.ts'

/** Registers a callback that runs when the client disconnects before its response. */
export type OnDisconnect = (giveUp: () => void) => void

/** Produces a response; registers a callback for when no client waits for it any more. */
type Make = (onDisconnect: OnDisconnect) => Promise<EncodedResponse>

/** Cache metrics. */
export interface CacheFigures {
  readonly hits: number
  readonly misses: number
  /** Number of entries removed because their data had changed. */
  readonly dropped: number
  readonly entries: number
  readonly bytes: number
}

/** Cache of responses, invalidated by commits. */
export interface ResponseCache {
  /** Whether responses can be cached at all. */
  readonly isEnabled: boolean
  /**
   * Returns the response with this key: from the cache, from a production in progress, or from a new one. A null key is
   * never shared. A production that another sender started is awaited only briefly, because it may wait for that
   * sender's turn; then the client's own production starts.
   */
  answer(
    key: string | null,
    sender: string,
    onDisconnect: OnDisconnect,
    make: Make,
  ): EncodedResponse | Promise<EncodedResponse>
  /** Invalidates the responses whose data the commit changed, and stops sharing the productions started before it. */
  committed(commit: { readonly tags: readonly string[] }): void
  /** Sets whether commit notifications arrive; without them nothing is cached or served from the cache. */
  listening(isListening: boolean): void
  figures(): CacheFigures
}

/** A production in progress, shared by one or more clients. */
interface Production {
  readonly sender: string
  readonly finished: Promise<EncodedResponse>
  readonly waiting: WaitingClients
}

/** The productions in progress of one key. */
interface RunsOfKey {
  /** Each sender joins its own. */
  readonly bySender: Map<string, Production>
  /** The one that other senders join. */
  shared: Production
}

/** Size of an entry besides its body, in bytes; its compressed bodies together are no larger than the body itself. */
const overheadBytes = 1_000
/** Size of a tag in bytes: an address and its list entry. */
const tagBytes = 100

interface Entry {
  readonly finished: EncodedResponse
  readonly tags: readonly string[]
  /** Count of changes, by `TagHistory.count`, when the production began. */
  readonly changesBefore: number
}

/**
 * Creates a response cache with a size limit; an entry is valid until the data behind one of its tags changes.
 * @param bytes size limit; 0 disables the cache
 */
export function createResponseCache(bytes: number): ResponseCache {
  const runs = new Map<string, RunsOfKey>()
  const history = new TagHistory()
  const counts = { hits: 0, misses: 0, dropped: 0 }
  let isEnabled = false

  const entries = new LRUCache<string, Entry>({
    maxSize: Math.max(1, bytes),
    sizeCalculation: ({ finished, tags }, key) =>
      2 * finished.bytes.length + 2 * key.length + tagBytes * tags.length + overheadBytes,
  })

  /** Returns the entry with this key, if the data behind its tags is unchanged. */
  function current(key: string): Entry | undefined {
    const entry = entries.get(key)
    if (entry === undefined || history.isUnchanged(entry.tags, entry.changesBefore)) return entry
    entries.delete(key)
    counts.dropped++
    return undefined
  }

  async function finish(key: string, making: Promise<EncodedResponse>): Promise<EncodedResponse> {
    const changesBefore = history.count
    const finished = await making
    const tags = finished.origin.tags && [...finished.origin.tags]
    const stands = tags !== null && isEnabled && history.isUnchanged(tags, changesBefore)
    if (stands && finished.status === 200) entries.set(key, { finished, tags, changesBefore })
    return finished
  }

  function begin(key: string, sender: string, make: Make): Production {
    const close = (): void => remove(key, run)
    const waiting = new WaitingClients()
    const making = make((giveUp) => {
      waiting.giveUp = () => {
        close()
        giveUp()
      }
    })
    const run = { sender, finished: finish(key, making).finally(close), waiting }
    const ofKey = runs.get(key) ?? { bySender: new Map<string, Production>(), shared: run }
    ofKey.bySender.set(sender, run)
    ofKey.shared = run
    runs.set(key, ofKey)
    return run
  }

  function remove(key: string, run: Production): void {
    const ofKey = runs.get(key)
    // After a change others may have begun.
    if (ofKey?.bySender.get(run.sender) !== run) return
    ofKey.bySender.delete(run.sender)
    const [oldest] = ofKey.bySender.values()
    if (oldest === undefined) runs.delete(key)
    else if (ofKey.shared === run) ofKey.shared = oldest
  }

  async function sharedWithOther(run: Production, key: string, sender: string, onDisconnect: OnDisconnect, make: Make) {
    const leave = run.waiting.join(onDisconnect)
    const shared = await within(sharedMilliseconds, run.finished)
    if (shared !== null && shared.status !== 503) return shared
    leave()
    const own = runs.get(key)?.bySender.get(sender) ?? begin(key, sender, make)
    own.waiting.join(onDisconnect)
    return own.finished
  }

  return {
    isEnabled: bytes > 0,

    answer(key, sender, onDisconnect, make) {
      if (key === null || !isEnabled) return make(onDisconnect)
      const entry = current(key)
      counts[entry === undefined ? 'misses' : 'hits']++
      if (entry !== undefined) return entry.finished
      const known = runs.get(key)
      const own = known?.bySender.get(sender)
      if (known !== undefined && own === undefined) {
        return sharedWithOther(known.shared, key, sender, onDisconnect, make)
      }
      const run = own ?? begin(key, sender, make)
      run.waiting.join(onDisconnect)
      return run.finished
    },

    committed({ tags }) {
      history.change(tags)
      runs.clear()
    },

    listening(isListening) {
      isEnabled = isListening && bytes > 0
      history.forget()
      runs.clear()
      entries.clear()
    },

    figures: () => ({ ...counts, entries: entries.size, bytes: entries.calculatedSize }),
  }
}

/** The clients that wait for one response: production is cancelled when the last of them leaves. */
class WaitingClients {
  giveUp: () => void = () => undefined
  #count = 0

  /** @returns a function that ends the wait of this client, as its disconnection does */
  join(onDisconnect: OnDisconnect): () => void {
    let waits = true
    const leave = (): void => {
      if (!waits) return
      waits = false
      if (--this.#count === 0) this.giveUp()
    }
    this.#count++
    onDisconnect(leave)
    return leave
  }
}
