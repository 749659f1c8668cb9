import { describe, expect, test } from 'vitest'
import { Canceller } from '../../src/database/cancellation.ts'
import { ReadCancelled } from '../../src/database/errors.ts'
import { limitConcurrency } from '../../src/fairness/limit-concurrency.ts'

/** Creates tasks by name, which run until the test ends them. */
function controlled(most: number) {
  const limit = limitConcurrency(most)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  return {
    begun,
    begin: (name: string) =>
      limit(
        name.includes(' ') ? name.slice(0, name.indexOf(' ')) : name.slice(0, 1),
        () =>
          new Promise<string>((resolve) => {
            begun.push(name)
            ends.set(name, () => resolve(name))
          }),
      ),
    async end(name: string) {
      ends.get(name)?.()
      await new Promise(setImmediate)
    },
  }
}

test('a sender has at most half of the limit, and the others run beside it', async () => {
  const { begin, begun } = controlled(4)
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1']) void begin(name)
  await new Promise(setImmediate)
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2'])
})

test('senders take turns, each in its order', async () => {
  const { begin, begun, end } = controlled(2)
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void begin(name)
  await new Promise(setImmediate)
  for (const name of ['a1', 'b1', 'a2', 'b2', 'c1']) await end(name)
  expect(begun).toEqual(['a1', 'b1', 'a2', 'b2', 'c1', 'a3'])
})

describe('senders of one IPv6 network', () => {
  const ofNetwork = (at: number, work: number): string => `2001:db8:1:${at}::/64 ${work}`

  test('have half of the limit together', async () => {
    const { begin, begun } = controlled(4)
    for (const name of [...[1, 2, 3, 4].map((at) => ofNetwork(at, 1)), 'b1', 'c1']) void begin(name)
    await new Promise(setImmediate)
    expect(begun).toEqual([ofNetwork(1, 1), ofNetwork(2, 1), 'b1', 'c1'])
  })

  test('share the turns of one sender, and alternate in them', async () => {
    const { begin, begun, end } = controlled(1)
    const works = [ofNetwork(1, 1), ofNetwork(1, 2), ofNetwork(1, 3), ofNetwork(2, 1), ofNetwork(3, 1)]
    for (const name of [...works, 'b1', 'b2']) void begin(name)
    await new Promise(setImmediate)
    const order = [works[0], works[1], 'b1', works[3], 'b2', works[4], works[2]].map(String)
    for (const name of order) await end(name)
    expect(begun).toEqual(order)
  })
})

test('passes on results and errors, and continues after either', async () => {
  const limit = limitConcurrency(1)
  const results = await Promise.allSettled([
    limit('a', () => Promise.resolve(1)),
    limit('a', () => Promise.reject(new Error('no'))),
    limit('a', () => Promise.resolve(3)),
  ])
  expect(results.map((result) => (result.status === 'fulfilled' ? result.value : null))).toEqual([1, null, 3])
})

test('work whose signal is aborted while it waits leaves the queue, and never runs', async () => {
  const limit = limitConcurrency(1)
  let end = (): void => undefined
  const running = limit('a', () => new Promise<void>((resolve) => (end = resolve)))
  const leaving = new Canceller()
  const begun: string[] = []
  const run = (name: string) => () => Promise.resolve(void begun.push(name))
  const left = [limit('b', run('b1'), leaving), limit('b', run('b2'), leaving)]
  const stays = [limit('b', run('b3')), limit('c', run('c1'), new Canceller())]
  const settled = Promise.allSettled(left)
  leaving.abort()
  await expect(settled).resolves.toEqual(
    left.map(() => ({ status: 'rejected', reason: expect.any(ReadCancelled) as unknown })),
  )
  await expect(limit('b', run('b4'), leaving)).rejects.toThrow(ReadCancelled)
  expect(begun).toEqual([])
  end()
  await Promise.all([running, ...stays])
  expect(begun).toEqual(['b3', 'c1'])
})
