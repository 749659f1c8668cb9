import { describe, expect, test } from 'vitest'
import type { Reader } from '../../src/database/database.ts'
import { type Context, contextsOn } from '../../src/graphql/context.ts'
import { sharedLoader, sharedRead } from '../../src/graphql/shared-loader.ts'

/** A read that is answered when the test says so. */
interface Asked {
  readonly keys: readonly string[]
  readonly args: unknown
  readonly answer: (value: string) => void
  readonly fail: (error: Error) => void
}

const database: Reader = { query: () => Promise.reject(new Error('not asked here')) }

function recorded() {
  const asked: Asked[] = []
  const load = sharedLoader<string, unknown, string>(
    'each',
    (_, keys, args) =>
      new Promise((resolve, reject) => {
        const answer = (value: string): void => resolve(new Map(keys.map((key) => [key, `${key}: ${value}`])))
        asked.push({ keys, args, answer, fail: reject })
      }),
  )
  return { asked, load }
}

const contextOf = contextsOn(database)
const request = (): Context => contextOf({})
const passed = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))

describe('reads that requests share', () => {
  test('are one for what several requests ask for at once', async () => {
    const { asked, load } = recorded()
    const answers = ['a', 'b', 'a'].map((key) => load(request(), key, null))
    await passed()
    expect(asked.map(({ keys }) => keys)).toEqual([['a', 'b']])
    asked[0]?.answer('1')
    expect(await Promise.all(answers)).toEqual(['a: 1', 'b: 1', 'a: 1'])
  })

  test('begin after they were asked for, so that nobody is told what was before', async () => {
    const { asked, load } = recorded()
    const before = load(request(), 'a', null)
    await passed()
    const after = load(request(), 'a', null)
    await passed()
    expect(asked).toHaveLength(2)
    asked[0]?.answer('old')
    asked[1]?.answer('new')
    expect([await before, await after]).toEqual(['a: old', 'a: new'])
  })

  test('gather what comes while two are on their way', async () => {
    const { asked, load } = recorded()
    const answers: Promise<string | undefined>[] = []
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      answers.push(load(request(), key, null))
      await passed()
    }
    expect(asked.map(({ keys }) => keys)).toEqual([['a'], ['b']])
    asked[0]?.answer('1')
    await passed()
    expect(asked.map(({ keys }) => keys)).toEqual([['a'], ['b'], ['c', 'd', 'e']])
    asked[1]?.answer('2')
    asked[2]?.answer('3')
    expect(await Promise.all(answers)).toEqual(['a: 1', 'b: 2', 'c: 3', 'd: 3', 'e: 3'])
  })

  test('go on after one has failed, which is told to those who waited for it alone', async () => {
    const { asked, load } = recorded()
    const failed = load(request(), 'a', null)
    const outcome = expect(failed).rejects.toThrow('gone')
    await passed()
    asked[0]?.fail(new Error('gone'))
    await outcome
    const next = load(request(), 'a', null)
    await passed()
    asked[1]?.answer('1')
    expect(await next).toBe('a: 1')
  })

  test('are apart where arguments or databases are others', async () => {
    const { asked, load } = recorded()
    const elsewhere = contextsOn({ ...database })({})
    void load(request(), 'a', { venue: 'x' })
    void load(request(), 'a', { venue: 'y' })
    void load(elsewhere, 'a', { venue: 'x' })
    await passed()
    expect(asked.map(({ args }) => args)).toEqual([{ venue: 'x' }, { venue: 'y' }, { venue: 'x' }])
  })

  test('are made once by a request, however often it asks', async () => {
    const { asked, load } = recorded()
    const context = request()
    const first = load(context, 'a', null)
    await passed()
    asked[0]?.answer('1')
    expect([await first, await load(context, 'a', null)]).toEqual(['a: 1', 'a: 1'])
    expect(asked).toHaveLength(1)
  })

  test('are of many keys at most', async () => {
    const { asked, load } = recorded()
    for (let key = 0; key < 150; key++) void load(request(), String(key), null)
    await passed()
    expect(asked.map(({ keys }) => keys.length)).toEqual([100, 50])
  })

  test('may be of what has no key', async () => {
    let reads = 0
    const read = sharedRead((_, args: { category: string }) => Promise.resolve(`${args.category} ${++reads}`))
    const [one, other] = await Promise.all([
      read(request(), { category: 'major' }),
      read(request(), { category: 'major' }),
    ])
    expect([one, other, await read(request(), { category: 'meme' })]).toEqual(['major 1', 'major 1', 'meme 2'])
  })

  test('are given up when all who asked have left, and not before', async () => {
    const signals: (AbortSignal | undefined)[] = []
    const reader: Reader = {
      query: (_, __, signal) => {
        signals.push(signal)
        return new Promise(() => undefined)
      },
    }
    const contextOf = contextsOn(reader)
    const load = sharedLoader<string, null, string>('things', async (database) => {
      await database.query({ name: 'things', text: 'select', from: 'catalogue' }, [])
      return new Map<string, string>()
    })
    const [one, other] = [new AbortController(), new AbortController()]
    for (const { signal } of [one, other]) void load(contextOf({ signal }), 'a', null)
    await passed()
    one.abort()
    expect(signals.map((signal) => signal?.aborted)).toEqual([false])
    other.abort()
    expect(signals.map((signal) => signal?.aborted)).toEqual([true])
  })
})
