import fc from 'fast-check'
import { LRUCache } from 'lru-cache'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { clientOf } from '../../src/fairness/budget.ts'
import { FairCache, idleMilliseconds } from '../../src/fairness/fair-cache.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const maxBytes = 100_000
/** The last two are of one IPv6 /48, and so one client. */
const senders = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '2001:db8:0:1::/64', '2001:db8:0:2::/64']

const sender = fc.constantFrom(...senders)
const key = fc.nat({ max: 30 }).map(String)
const bytes = fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 110_000 }))
const wait = fc.record({ wait: fc.integer({ min: 1, max: idleMilliseconds }) })
const use = fc.record({ key, sender })
const store = fc.record({ key, sender, bytes })
const resize = fc.record({ key, resizedBytes: bytes })
const remove = fc.record({ removed: key })

/** Stores the key itself as the value, unless it is cached. */
function request(cache: FairCache<string>, each: { key: string; sender: string; bytes: number }): 'hit' | 'miss' {
  if (cache.get(each.key, each.sender) !== undefined) return 'hit'
  cache.set(each.key, each.key, each.bytes, each.sender)
  return 'miss'
}

test('a full cache keeps what its rule says, after any uses, stores and waits', () => {
  const steps = fc.array(
    fc.oneof({ weight: 4, arbitrary: store }, { weight: 4, arbitrary: use }, wait, resize, remove),
    {
      maxLength: 150,
      size: 'max',
    },
  )
  fc.assert(
    fc.property(steps, (each) => {
      const [cache, model] = [new FairCache<string>(maxBytes), new Model()]
      for (const step of each) {
        if ('wait' in step) vi.advanceTimersByTime(step.wait)
        else if ('removed' in step) {
          expect(cache.delete(step.removed)?.sender).toBe(model.delete(step.removed)?.sender)
        } else if ('resizedBytes' in step) {
          cache.resize(step.key, 'another value', 1)
          cache.resize(step.key, step.key, step.resizedBytes)
          if (model.resize(step.key, step.resizedBytes) === 'tie') return
        } else if ('bytes' in step) {
          cache.set(step.key, step.key, step.bytes, step.sender)
          // Which one of two equally large clients gives up an entry is not specified.
          if (model.set(step.key, step.bytes, step.sender) === 'tie') return
        } else expect(cache.get(step.key, step.sender) !== undefined).toBe(model.get(step.key, step.sender))
        expect(cache.bytes).toBeLessThanOrEqual(maxBytes)
        expect([cache.size, cache.bytes]).toEqual([model.entries.length, sum(model.entries)])
      }
    }),
  )
})

test('a client that stores no more than its fair share loses nothing, whatever the others store and use', () => {
  const fairShare = maxBytes / 4
  fc.assert(
    fc.property(fc.array(store, { maxLength: 300, size: 'max' }), fc.array(use), (stored, used) => {
      const cache = new FairCache<string>(maxBytes)
      const own = new Map<string, number>()
      for (const [index, each] of stored.entries()) {
        // The first sender stores keys of its own, as many as fit into its share.
        if (each.sender === senders[0]) {
          const sizes = [...new Map([...own, [`own ${each.key}`, each.bytes]]).values()]
          if (sizes.reduce((total, size) => total + size, 0) > fairShare) continue
          own.set(`own ${each.key}`, each.bytes)
        }
        cache.set(each.sender === senders[0] ? `own ${each.key}` : each.key, 'value', each.bytes, each.sender)
        const next = used[index % Math.max(1, used.length)]
        if (next !== undefined && next.sender !== senders[0]) cache.get(`own ${next.key}`, next.sender)
        for (const name of own.keys()) expect(cache.get(name, senders[0] ?? '')).toBe('value')
      }
    }),
  )
})

test('one client alone has an LRU cache of all bytes', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ key, bytes }), { maxLength: 200, size: 'max' }), (requests) => {
      const cache = new FairCache<string>(maxBytes)
      const lru = new LRUCache<string, string>({ maxSize: maxBytes })
      for (const { key, bytes } of requests) {
        const expected = lru.get(key) === undefined ? 'miss' : 'hit'
        if (expected === 'miss') lru.set(key, key, { size: bytes })
        expect(request(cache, { key, bytes, sender: '192.0.2.1' })).toBe(expected)
        expect(cache.bytes).toBe(lru.calculatedSize)
      }
    }),
  )
})

describe('an entry of a small client', () => {
  const cacheWithEntry = (): FairCache<string> => {
    const cache = new FairCache<string>(maxBytes)
    cache.set('small', 'small', 10_000, 'small')
    return cache
  }
  const flood = (cache: FairCache<string>, sender: string, bytes = 5_000): void => {
    for (let index = 0; index < 60; index++) cache.set(`${sender} ${index}`, 'large', bytes, sender)
  }

  test('is kept while it is in use, also in a network with many senders', () => {
    const cache = cacheWithEntry()
    flood(cache, 'greedy')
    for (let network = 0; network < 60; network++) flood(cache, `2001:db8:0:${network.toString(16)}::/64`)
    expect(cache.get('small', 'small')).toBe('small')
  })

  test('is evicted after a time without use, so that clients that have left take nothing from others', () => {
    const cache = cacheWithEntry()
    vi.advanceTimersByTime(idleMilliseconds - 1)
    flood(cache, 'greedy')
    vi.advanceTimersByTime(1)
    expect(cache.bytes).toBe(maxBytes)
    flood(cache, 'greedy')
    expect(cache.get('small', 'small')).toBeUndefined()
  })

  test('is kept where a greedy client used it too', () => {
    const cache = cacheWithEntry()
    expect(cache.get('small', 'greedy')).toBe('small')
    flood(cache, 'greedy')
    expect(cache.get('small', 'small')).toBe('small')
  })

  test('that a greedy client has stored passes to the one that uses it', () => {
    const cache = new FairCache<string>(maxBytes)
    cache.set('popular', 'popular', 10_000, 'greedy')
    expect(cache.get('popular', 'small')).toBe('popular')
    flood(cache, 'greedy')
    flood(cache, 'greedy')
    expect(cache.get('popular', 'small')).toBe('popular')
  })
})

test('an emptied cache charges nobody', () => {
  const cache = new FairCache<string>(maxBytes)
  for (let index = 0; index < 20; index++) cache.set(String(index), 'value', 5_000, 'first')
  cache.clear()
  expect([cache.size, cache.bytes]).toEqual([0, 0])
  cache.set('first', 'value', 40_000, 'first')
  for (let index = 0; index < 12; index++) cache.set(String(index), 'value', 5_000, 'second')
  cache.set('last', 'value', 5_000, 'third')
  expect(cache.get('first', 'first')).toBe('value')
})

interface Entry {
  readonly key: string
  readonly bytes: number
  readonly owner: string
  readonly sender: string
  readonly otherUser: string | null
  readonly usedAt: number
  /** Number of the use, in all uses. */
  readonly use: number
}

function sum(entries: readonly Entry[]): number {
  return entries.reduce((total, entry) => total + entry.bytes, 0)
}

/** The rule of the cache: a list of entries, the least recently used or received first, in which each decision is searched. */
class Model {
  entries: readonly Entry[] = []
  #uses = 0

  get(key: string, sender: string): boolean {
    const used = this.entries.find((entry) => entry.key === key)
    if (used === undefined) return false
    const otherUser = sender === used.sender ? used.otherUser : sender
    this.entries = [...this.#without(used), { ...used, otherUser, ...this.#now() }]
    return true
  }

  delete(key: string): Entry | undefined {
    const removed = this.entries.find((entry) => entry.key === key)
    if (removed !== undefined) this.entries = this.#without(removed)
    return removed
  }

  resize(key: string, bytes: number): 'set' | 'tie' {
    const entry = this.entries.find((each) => each.key === key)
    return entry === undefined ? 'set' : this.set(key, bytes, entry.sender)
  }

  set(key: string, bytes: number, sender: string): 'set' | 'tie' {
    this.delete(key)
    if (bytes > maxBytes) return 'set'
    const added = { key, bytes, owner: clientOf(sender), sender, otherUser: null, ...this.#now() }
    this.entries = [...this.entries, added]
    while (sum(this.entries) > maxBytes) if (!this.#makeRoom()) return 'tie'
    return 'set'
  }

  /** @returns false if several clients have the most bytes */
  #makeRoom(): boolean {
    const [oldest] = this.entries.toSorted((a, b) => a.use - b.use)
    const idle = oldest !== undefined && performance.now() - oldest.usedAt >= idleMilliseconds ? oldest : undefined
    const owners = [...new Set(this.entries.map(({ owner }) => owner))]
    const bytesOf = owners.map((owner) => sum(this.entries.filter((entry) => entry.owner === owner)))
    const largest = owners.filter((_, index) => bytesOf[index] === Math.max(...bytesOf))
    if (idle === undefined && largest.length > 1) return false
    const given = idle ?? this.entries.find(({ owner }) => owner === largest[0])
    if (given === undefined) return false
    const { otherUser } = given
    this.entries = this.#without(given)
    if (idle === undefined && otherUser !== null && clientOf(otherUser) !== given.owner) {
      const passed = { ...given, owner: clientOf(otherUser), sender: otherUser, otherUser: null }
      this.entries = [...this.entries, passed]
    }
    return true
  }

  #now(): Pick<Entry, 'use' | 'usedAt'> {
    return { use: this.#uses++, usedAt: performance.now() }
  }

  #without(removed: Entry): readonly Entry[] {
    return this.entries.filter((entry) => entry !== removed)
  }
}
