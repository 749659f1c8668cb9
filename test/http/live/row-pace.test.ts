import { performance } from 'node:perf_hooks'
import { setImmediate, setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Canceller } from '../../../src/database/cancellation.ts'
import { ReadCancelled } from '../../../src/database/errors.ts'
import { RowPace } from '../../../src/http/live/ledger/row-pace.ts'

const open = new Canceller()

/** Groups that end when they are told to, by the name of their sender and their number. */
function controlled(rowGroups: number, rowGroupMilliseconds = 60_000) {
  const pace = new RowPace({ rowGroups, rowGroupMilliseconds })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  return {
    begun,
    produce: (name: string, signal: Canceller = open) =>
      pace.produce(
        name.slice(0, -1),
        () => {
          begun.push(name)
          return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
        },
        signal,
      ),
    async end(name: string) {
      ends.get(name)?.()
      await wait(20)
    },
  }
}

test('clients take turns, a group each', async () => {
  const { begun, produce, end } = controlled(1)
  const names = ['a1', 'a2', 'b1', 'a3', 'c1']
  const produced = Promise.all(names.map((name) => produce(name)))
  await setImmediate()
  for (const name of ['a1', 'a2', 'b1', 'c1', 'a3']) await end(name)
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3'])
  await expect(produced).resolves.toEqual(names)
})

test('a group that is not ready does not hold up those of others', async () => {
  const { begun, produce, end } = controlled(1, 10)
  const slow = produce('a1')
  const other = produce('b1')
  await expect.poll(() => begun).toEqual(['a1', 'b1'])
  await end('a1')
  await end('b1')
  await expect(Promise.all([slow, other])).resolves.toEqual(['a1', 'b1'])
})

test('the group of a stream that has closed before its turn is not produced', async () => {
  const { begun, produce, end } = controlled(1)
  const first = produce('a1')
  const closing = new Canceller()
  const left = produce('b1', closing)
  const last = produce('c1')
  closing.abort()
  await expect(left).rejects.toThrow(ReadCancelled)
  await end('a1')
  await end('c1')
  expect(begun).toEqual(['a1', 'c1'])
  await Promise.all([first, last])
})

test('after a group that kept the event loop busy no other begins for as long', async () => {
  const pace = new RowPace()
  const busyMilliseconds = 40
  const begunAt: number[] = []
  const group = async (): Promise<void> => {
    begunAt.push(performance.now())
    while (performance.now() - (begunAt.at(-1) ?? 0) < busyMilliseconds);
    return Promise.resolve()
  }
  await pace.produce('a', group, open)
  const ended = performance.now()
  await pace.produce('b', group, open)
  expect((begunAt[1] ?? 0) - ended).toBeGreaterThan(busyMilliseconds / 2)
})

test('a group whose rows wait for the database is followed by the next one', async () => {
  const pace = new RowPace()
  const before = performance.eventLoopUtilization()
  await pace.produce('a', () => wait(200), open)
  // Nothing else keeps the event loop of this test busy.
  const { active, idle } = performance.eventLoopUtilization(before)
  expect(active).toBeLessThan(idle)
  let hasBegun = false
  const next = pace.produce('b', () => Promise.resolve(void (hasBegun = true)), open)
  await setImmediate()
  expect(hasBegun).toBe(true)
  await next
})

test('a failure reaches the stream whose rows they are, and the next group begins', async () => {
  const pace = new RowPace({ rowGroups: 1, rowGroupMilliseconds: 60_000 })
  const failing = pace.produce('a', () => Promise.reject(new Error('no such row')), open)
  const next = pace.produce('b', () => Promise.resolve('made'), open)
  await expect(failing).rejects.toThrow('no such row')
  await expect(next).resolves.toBe('made')
})
