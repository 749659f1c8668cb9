import { FairCache } from '../../fairness/fair-cache.ts'
import type { EncodedResponse } from './encoded-response.ts'
import { type OnDisconnect, Productions, type StartProduction } from './productions.ts'
import { TagChanges } from './tag-changes.ts'

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
    start: StartProduction,
  ): EncodedResponse | Promise<EncodedResponse>
  /** Invalidates the responses whose data the commit changed, and stops sharing the productions started before it. */
  committed(commit: { readonly tags: readonly string[] | null }): void
  /** Sets whether commit notifications arrive; without them nothing is cached or served from the cache. */
  listening(isListening: boolean): void
  figures(): CacheFigures
}

/**
 * Size of an entry besides its body, in bytes, with what the cache knows of a client that has no other entry; its compressed
 * bodies together are no larger than the body itself.
 */
const overheadBytes = 1_800
/** Size of a tag in bytes: an address and its list entry. */
const tagBytes = 100

interface Entry {
  readonly response: EncodedResponse
  readonly tags: readonly string[]
  /** Count of changes, by `TagChanges.count`, when the production began. */
  readonly changesBefore: number
}

/**
 * Creates a response cache with a size limit, which is fair to senders; an entry is valid until the data behind one of its
 * tags changes.
 * @param bytes size limit; 0 disables the cache
 */
export function createResponseCache(bytes: number): ResponseCache {
  const productions = new Productions(storeWhenReady)
  const changes = new TagChanges()
  const counts = { hits: 0, misses: 0, dropped: 0 }
  /** Whether the cache has a size, and is notified of commits. */
  let isActive = false

  const entries = new FairCache<Entry>(bytes)

  /** Returns the entry with this key for a sender, if the data behind its tags is unchanged. */
  function current(key: string, sender: string): Entry | undefined {
    const entry = entries.get(key, sender)
    if (entry === undefined || changes.isUnchanged(entry.tags, entry.changesBefore)) return entry
    entries.delete(key)
    counts.dropped++
    return undefined
  }

  /** Stores the response of a sender's production, if its data is still unchanged when it is ready. */
  async function storeWhenReady(
    key: string,
    sender: string,
    produced: Promise<EncodedResponse>,
  ): Promise<EncodedResponse> {
    const changesBefore = changes.count
    const response = await produced
    if (response.status !== 200 || !response.origin.isCacheable || !isActive) return response
    const tags = [...response.origin.tags]
    // The entry of another sender's production is equal, and stays charged to that one.
    if (!changes.isUnchanged(tags, changesBefore) || current(key, sender) !== undefined) return response
    const size = 2 * response.bytes.length + 2 * key.length + tagBytes * tags.length + overheadBytes
    entries.set(key, { response, tags, changesBefore }, size, sender)
    return response
  }

  return {
    isEnabled: bytes > 0,

    answer(key, sender, onDisconnect, start) {
      if (key === null || !isActive) return start(onDisconnect)
      const entry = current(key, sender)
      counts[entry === undefined ? 'misses' : 'hits']++
      if (entry !== undefined) return entry.response
      return productions.join(key, sender, onDisconnect, start)
    },

    committed({ tags }) {
      if (tags === null) changes.forget()
      else changes.change(tags)
      productions.clear()
    },

    listening(isListening) {
      isActive = isListening && bytes > 0
      changes.forget()
      productions.clear()
      entries.clear()
    },

    figures: () => ({ ...counts, entries: entries.size, bytes: entries.bytes }),
  }
}
