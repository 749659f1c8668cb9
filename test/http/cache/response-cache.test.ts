import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { EncodedResponse } from '../../../src/http/cache/encoded-response.ts'
import { type ResponseCache, createResponseCache } from '../../../src/http/cache/response-cache.ts'

const plenty = 1024 * 1024
const noLeave = (): void => undefined

function listening(bytes = plenty): ResponseCache {
  const cache = createResponseCache(bytes)
  cache.listening(true)
  return cache
}

function produced(body: string, tags: readonly string[] | null, status = 200): Promise<EncodedResponse> {
  const answer = { status, headers: { 'content-type': 'text/plain' }, body }
  const origin = { tags: new Set(tags), version: null, isCacheable: tags !== null, notified: null }
  return Promise.resolve(new EncodedResponse(answer, origin))
}

/** A promise that the test resolves. */
function deferred<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => undefined
  return { promise: new Promise<Value>((keep) => (resolve = keep)), resolve: (value) => resolve(value) }
}

const sender = 'a'

/** Requests a key, whose production returns this body with these tags. */
async function request(cache: ResponseCache, key: string | null, body: string, tags: readonly string[] | null = ['a']) {
  return (await cache.answer(key, sender, noLeave, () => produced(body, tags))).bytes.toString()
}

describe('an answer', () => {
  test('is cached until one of its tags changes', async () => {
    const cache = listening()
    expect(await request(cache, 'key', 'first', ['a', 'b'])).toBe('first')
    cache.committed({ tags: ['c'] })
    expect(await request(cache, 'key', 'second')).toBe('first')
    cache.committed({ tags: ['c', 'b'] })
    expect(await request(cache, 'key', 'third')).toBe('third')
    expect(cache.figures()).toMatchObject({ hits: 1, misses: 2, dropped: 1, entries: 1 })
  })

  test('is cached under its own key only, and never without a key', async () => {
    const cache = listening()
    expect(await request(cache, 'key', 'first')).toBe('first')
    expect(await request(cache, 'other', 'second')).toBe('second')
    expect([await request(cache, null, 'third'), await request(cache, null, 'fourth')]).toEqual(['third', 'fourth'])
  })

  test('that is incomplete, or a refusal, is not cached', async () => {
    const cache = listening()
    await request(cache, 'key', 'broken', null)
    await cache.answer('key', sender, noLeave, () => produced('refused', ['a'], 404))
    expect(await request(cache, 'key', 'whole')).toBe('whole')
  })

  test('that fails is not cached, and rejects all requests that wait for it', async () => {
    const cache = listening()
    const failing = (): Promise<EncodedResponse> => Promise.reject(new Error('no answer'))
    const both = [cache.answer('key', sender, noLeave, failing), cache.answer('key', sender, noLeave, failing)]
    for (const each of both) await expect(each).rejects.toThrow('no answer')
    expect(await request(cache, 'key', 'whole')).toBe('whole')
  })

  test('that another sender began, and that takes longer than the own one, is not awaited', async () => {
    const cache = listening()
    const { promise, resolve } = deferred<EncodedResponse>()
    const slow = cache.answer('key', 'b', noLeave, () => promise)
    expect((await cache.answer('key', sender, noLeave, () => produced('own', ['a']))).bytes.toString()).toBe('own')
    resolve(await produced('of the other', ['a']))
    expect((await slow).bytes.toString()).toBe('of the other')
  })

  test('that another sender began is shared if it is produced soon, and is no refusal or error', async () => {
    const cache = listening()
    const first = cache.answer('key', 'b', noLeave, () => produced('shared', ['a']))
    const second = cache.answer('key', sender, noLeave, () => produced('own', ['a']))
    expect([(await first).bytes.toString(), (await second).bytes.toString()]).toEqual(['shared', 'shared'])
    for (const status of [503, 500]) {
      const refused = cache.answer('other', 'b', noLeave, () => produced('overloaded', ['a'], status))
      const own = await cache.answer('other', sender, noLeave, () => produced('own', null))
      expect([(await refused).status, own.bytes.toString()]).toEqual([status, 'own'])
    }
  })

  test('that another sender began, and that is ready before the own one, is returned, and the own one given up', async () => {
    const cache = listening()
    const [other, own] = [deferred<EncodedResponse>(), deferred<EncodedResponse>()]
    let [hasBegun, givenUp] = [false, 0]
    void cache.answer('key', 'b', noLeave, () => other.promise)
    const answered = cache.answer('key', sender, noLeave, (onAllLeft) => {
      hasBegun = true
      onAllLeft(() => void givenUp++)
      return own.promise
    })
    await expect.poll(() => hasBegun).toBe(true)
    expect(givenUp).toBe(0)
    other.resolve(await produced('of the other', ['a']))
    expect([(await answered).bytes.toString(), givenUp]).toEqual(['of the other', 1])
  })

  test('that two senders have produced stays charged to the first, whose other answers are few', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const cache = listening(100_000)
    const { promise, resolve } = deferred<EncodedResponse>()
    const slow = cache.answer('key', 'greedy', noLeave, () => promise)
    expect(await request(cache, 'key', 'own')).toBe('own')
    resolve(await produced('of the other', ['a']))
    await slow
    for (let index = 0; index < 20; index++) {
      await cache.answer(String(index), 'greedy', noLeave, () => produced('x'.repeat(10_000), ['a']))
    }
    expect(await request(cache, 'key', 'another')).toBe('own')
  })

  test('begun before a change and finished after it is neither cached nor joined', async () => {
    const cache = listening()
    const { promise, resolve } = deferred<EncodedResponse>()
    const early = cache.answer('key', sender, noLeave, () => promise)
    cache.committed({ tags: ['a'] })
    const late = request(cache, 'key', 'new')
    resolve(await produced('old', ['a']))
    expect([(await early).bytes.toString(), await late, await request(cache, 'key', 'newer')]).toEqual([
      'old',
      'new',
      'new',
    ])
  })

  test('begun before a change of other tags is cached', async () => {
    const cache = listening()
    const { promise, resolve } = deferred<EncodedResponse>()
    const early = cache.answer('key', sender, noLeave, () => promise)
    cache.committed({ tags: ['b'] })
    resolve(await produced('old', ['a']))
    await early
    expect(await request(cache, 'key', 'new')).toBe('old')
  })

  test.each([
    ['has its own answer', false],
    ['has left after it', true],
  ])(
    'that another sender began is given up when that one leaves, and not before, where this one %s',
    async (_, left) => {
      const cache = listening()
      const { promise } = deferred<EncodedResponse>()
      const leaves: Record<'other' | 'own', (() => void)[]> = { other: [], own: [] }
      let givenUp = 0
      const slow = (onDisconnect: (cancel: () => void) => void): Promise<EncodedResponse> => {
        onDisconnect(() => givenUp++)
        return promise
      }
      void cache.answer('key', 'b', (cancel) => leaves.other.push(cancel), slow)
      await cache.answer(
        'key',
        sender,
        (cancel) => leaves.own.push(cancel),
        () => produced('own', ['a']),
      )
      if (left) for (const leave of leaves.own) leave()
      expect(givenUp).toBe(0)
      for (const leave of leaves.other) leave()
      expect(givenUp).toBe(1)
    },
  )

  test('in production is shared, and cancelled when all clients that wait for it have left', async () => {
    const cache = listening()
    const leave: (() => void)[] = []
    const onDisconnect = (cancel: () => void): void => void leave.push(cancel)
    let begun = 0
    let givenUp = 0
    const { promise, resolve } = deferred<EncodedResponse>()
    const make = (onAllLeft: (cancel: () => void) => void): Promise<EncodedResponse> => {
      begun++
      onAllLeft(() => void givenUp++)
      return promise
    }
    const both = [cache.answer('key', sender, onDisconnect, make), cache.answer('key', sender, onDisconnect, make)]
    leave[0]?.()
    expect([begun, givenUp]).toEqual([1, 0])
    leave[1]?.()
    expect(givenUp).toBe(1)
    expect(await request(cache, 'key', 'another')).toBe('another')
    resolve(await produced('shared', ['a']))
    const answered = [await both[0], await both[1]]
    expect(answered.map((finished) => finished?.bytes.toString())).toEqual(['shared', 'shared'])
  })
})

test('each sender joins its own production in progress, others the newest, or the oldest where that has ended', async () => {
  const cache = listening()
  const begun: { readonly by: string; readonly resolve: (finished: EncodedResponse) => void }[] = []
  const ask = async (by: string): Promise<string> => {
    const answered = cache.answer('key', by, noLeave, () => {
      const { promise, resolve } = deferred<EncodedResponse>()
      begun.push({ by, resolve })
      return promise
    })
    return (await answered).bytes.toString()
  }
  const senders = (): string[] => begun.map(({ by }) => by)
  const finish = async (index: number): Promise<void> =>
    begun[index]?.resolve(await produced(`production ${index}`, null))

  const first = [ask('a'), ask('b')]
  // The production of another sender is awaited briefly.
  await expect.poll(senders).toEqual(['a', 'b'])
  const second = [ask('a'), ask('b'), ask('a'), ask('c')]
  expect(senders()).toEqual(['a', 'b'])
  await finish(1)
  expect(await Promise.all([first[1], second[1], second[3]])).toEqual(['production 1', 'production 1', 'production 1'])
  const third = [ask('a'), ask('d')]
  expect(senders()).toEqual(['a', 'b'])
  await finish(0)
  expect(await Promise.all([first[0], second[0], second[2], ...third])).toEqual(Array(5).fill('production 0'))

  void ask('a')
  cache.committed({ tags: ['other'] })
  const fresh = ask('a')
  expect(senders()).toEqual(['a', 'b', 'a', 'a'])
  await finish(2)
  const joined = ask('a')
  expect(senders()).toHaveLength(4)
  await finish(3)
  expect(await Promise.all([fresh, joined])).toEqual(['production 3', 'production 3'])
})

describe('without notifications of commits', () => {
  test('nothing is cached, nor served from the cache', async () => {
    const cache = createResponseCache(plenty)
    expect([await request(cache, 'key', 'first'), await request(cache, 'key', 'second')]).toEqual(['first', 'second'])
    cache.listening(true)
    await request(cache, 'key', 'third')
    cache.listening(false)
    expect(await request(cache, 'key', 'fourth')).toBe('fourth')
    cache.listening(true)
    expect(await request(cache, 'key', 'fifth')).toBe('fifth')
    expect(await request(cache, 'key', 'sixth')).toBe('fifth')
  })

  test('a production that began before the interruption is not cached after it', async () => {
    const cache = listening()
    const { promise, resolve } = deferred<EncodedResponse>()
    const early = cache.answer('key', sender, noLeave, () => promise)
    cache.listening(false)
    cache.listening(true)
    resolve(await produced('old', ['a']))
    await early
    expect(await request(cache, 'key', 'new')).toBe('new')
  })
})

test('a cache of no bytes stores nothing', async () => {
  const cache = listening(0)
  expect([await request(cache, 'key', 'first'), await request(cache, 'key', 'second')]).toEqual(['first', 'second'])
})

test('the cached bytes are limited, and the last requested response is retained', async () => {
  const bytes = 100_000
  const cache = listening(bytes)
  await fc.assert(
    fc.asyncProperty(fc.nat(200), fc.integer({ min: 1, max: 30_000 }), async (key, length) => {
      await request(cache, String(key), 'x'.repeat(length), [`source of ${key % 7}`])
      expect(cache.figures().bytes).toBeLessThanOrEqual(bytes)
      expect(await request(cache, String(key), 'another')).not.toBe('another')
    }),
  )
})

test('for any order of requests, commits and interruptions, no response is older than the newest notified commit', async () => {
  const source = fc.constantFrom('a', 'b', 'c')
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ ask: fc.uniqueArray(source, { minLength: 1 }) }) },
    { weight: 3, arbitrary: fc.record({ finish: fc.nat(5) }) },
    { weight: 3, arbitrary: fc.record({ change: source }) },
    { weight: 1, arbitrary: fc.record({ lose: fc.constant(true) }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const cache = listening()
      const versions: Record<string, number> = { a: 0, b: 0, c: 0 }
      const making: (() => void)[] = []
      const answers: Promise<void>[] = []
      for (const each of steps) {
        if ('ask' in each) answers.push(check(each.ask))
        if ('finish' in each) making.splice(each.finish, 1)[0]?.()
        if ('change' in each) {
          versions[each.change] = (versions[each.change] ?? 0) + 1
          cache.committed({ tags: [each.change] })
        }
        if ('lose' in each) {
          cache.listening(false)
          for (const name of Object.keys(versions)) versions[name] = (versions[name] ?? 0) + 1
          cache.listening(true)
        }
        await Promise.resolve()
      }
      for (const finish of making) finish()
      await Promise.all(answers)

      /** Expects that the version of each source in the response is not older than that at the request. */
      async function check(tags: readonly string[]): Promise<void> {
        const requestedAt = { ...versions }
        const { bytes } = await cache.answer(tags.join(), sender, noLeave, async () => {
          const read = JSON.stringify(versions)
          await new Promise<void>((resolve) => making.push(resolve))
          return produced(read, tags)
        })
        const served = JSON.parse(bytes.toString()) as Record<string, number>
        for (const name of tags) expect(served[name]).toBeGreaterThanOrEqual(requestedAt[name] ?? 0)
      }
    }),
    { numRuns: 300 },
  )
})

test('a cached response retains no bytes besides its own', async () => {
  const { bytes } = await listening().answer('key', sender, noLeave, () => produced('short', ['a']))
  expect(bytes.buffer.byteLength).toBe('short'.length)
})

test('tags count towards the limit: many tags of small responses are limited like bodies', async () => {
  const cache = listening(100_000)
  const vaults = Array.from({ length: 200 }, (_, index) => `0x${index}`)
  for (let index = 0; index < 50; index++) await request(cache, String(index), 'small', vaults)
  expect(cache.figures().entries).toBeLessThan(6)
})

test('a response is not served again after more changes than the cache remembers', async () => {
  const cache = listening()
  await request(cache, 'key', 'first')
  for (let batch = 0; batch < 30; batch++) {
    cache.committed({ tags: Array.from({ length: 2_000 }, (_, index) => `${batch} ${index}`) })
  }
  expect(await request(cache, 'key', 'second')).toBe('second')
  expect(await request(cache, 'key', 'third')).toBe('second')
})
