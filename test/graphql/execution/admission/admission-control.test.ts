import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { ReadCancelled } from '../../../../src/database/errors.ts'
import {
  AdmissionQueueFull,
  createAdmissionControl,
  type Ticket,
} from '../../../../src/graphql/execution/admission/admission-control.ts'
import type { AdmissionLimits } from '../../../../src/limits.ts'
import { deferred } from '../../../support/deferred.ts'
import { timePasses } from '../../../support/time-passes.ts'

const passed = (milliseconds = 5): Promise<void> => timePasses(milliseconds)
const options = {
  cheapCost: 50,
  maxExpensive: 100,
  maxCheap: 100,
  maxWithLongReads: 100,
  maxShortWithLongReads: 0,
  shortCost: 10,
  shortOfClient: 30,
  shortPreparation: 10,
  maxPreparation: 100,
  yieldMilliseconds: 20,
  maxWaiting: 100,
}
/** Options with which all operations have one class. */
const onlyCheap = { ...options, cheapCost: Infinity }
const onlyExpensive = { ...options, cheapCost: 0 }
const kinds = [
  ['cheap work', 'run', onlyCheap],
  ['expensive work', 'run', onlyExpensive],
  ['preparation', 'runPreparation', options],
] as const
const sender = 'a'
const short = { cost: 10, sender }
const whole = { cost: 100, sender }

test.each(kinds)(
  '%s that is long costs no more than its bound at once, or is one alone, and begins in order',
  async (_, kind, ofKind) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ cost: fc.integer({ min: 11, max: 150 }), rounds: fc.nat(3) }), { maxLength: 20 }),
        async (works) => {
          const admission = createAdmissionControl(ofKind)
          const running = new Set<number>()
          const begun: number[] = []
          const all = works.map(({ cost, rounds }, index) =>
            admission[kind](
              async () => {
                begun.push(index)
                running.add(index)
                const costs = [...running].map((each) => works[each]?.cost ?? 0)
                expect(running.size === 1 || costs.reduce((sum, each) => sum + each) <= 100).toBe(true)
                for (let round = 0; round < rounds; round++) await new Promise((resolve) => setImmediate(resolve))
                running.delete(index)
                return index
              },
              { cost, sender },
            ),
          )
          expect(await Promise.all(all)).toEqual(works.map((_, index) => index))
          expect(begun).toEqual(works.map((_, index) => index))
        },
      ),
    )
  },
)

test('an operation is cheap up to a cost, and expensive beyond it', async () => {
  const admission = createAdmissionControl({ ...options, yieldMilliseconds: 60_000 })
  const begun: number[] = []
  let end: () => void = () => undefined
  const first = admission.run(() => new Promise<void>((resolve) => (end = resolve)), short)
  const all = [51, 50].map((cost) => admission.run(() => begun.push(cost), { cost, sender }))
  await passed()
  expect(begun).toEqual([50])
  end()
  await Promise.all([first, ...all])
  expect(begun).toEqual([50, 51])
})

test('short work of one sender runs at once up to its share, and short work of another beyond it', async () => {
  const admission = createAdmissionControl(onlyCheap)
  const begun: string[] = []
  const ends: (() => void)[] = []
  const begin = (name: string, of: string, cost = 10): Promise<void> =>
    admission.run(() => new Promise<void>((end) => (begun.push(name), ends.push(end))), { cost, sender: of })
  const all = [begin('long', 'a', 100), ...[1, 2, 3, 4, 5].map((at) => begin(`a${at}`, 'a')), begin('b1', 'b')]
  await passed()
  expect(begun).toEqual(['long', 'a1', 'a2', 'a3', 'b1'])
  while (begun.length < 7 || ends.length > 0) {
    for (const end of ends.splice(0)) end()
    await passed()
  }
  await Promise.all(all)
  expect(begun.toSorted()).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'long'])
})

/** Starts work that runs until the test ends it, and records the order in which it begins. */
function startable(ofOptions: AdmissionLimits) {
  const admission = createAdmissionControl(ofOptions)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const all: Promise<void>[] = []
  const start = (name: string, ticket: Ticket): void => {
    const work = (): Promise<void> => new Promise((end) => (begun.push(name), ends.set(name, end)))
    all.push(admission.run(work, ticket))
  }
  const end = async (...names: string[]): Promise<void> => {
    for (const name of names) ends.get(name)?.()
    await passed()
  }
  const endAll = async (): Promise<void> => {
    while (begun.length < all.length) await end(...begun)
    await end(...begun)
    await Promise.all(all)
  }
  return { begun, start, end, endAll }
}

test('running or waiting work with long reads, short or not, does not delay other cheap work', async () => {
  const { begun, start, endAll } = startable(onlyCheap)
  const long = { sender, hasLongReads: true }
  for (const name of ['long 1', 'long 2', 'long 3']) start(name, { ...long, cost: 40 })
  for (let at = 0; at < 3; at++) start(`short ${at}`, { ...long, cost: 10 })
  await passed()
  expect(begun).toEqual(['long 1', 'short 0'])
  start('other', { cost: 50, sender })
  start('other and short', { cost: 10, sender })
  start('long of b', { ...long, sender: 'b', cost: 15 })
  await passed()
  expect(begun).toEqual(['long 1', 'short 0', 'other', 'other and short', 'long of b'])
  await endAll()
})

test('short work with long reads does not wait for longer work with them, within a share', async () => {
  const { begun, start, end, endAll } = startable({ ...onlyCheap, maxShortWithLongReads: 40 })
  const from = (of: string, cost: number) => ({ sender: of, cost, hasLongReads: true })
  for (const at of [1, 2, 3, 4, 5]) start(`long ${at}`, from(`a${at}`, 50))
  for (const at of [1, 2, 3]) start(`short ${at}`, from('b', 10))
  await passed()
  // The share of one client is half; work beyond it waits like longer work.
  expect(begun).toEqual(['long 1', 'long 2', 'short 1', 'short 2'])
  start('short of c', from('c', 10))
  start('other of b', { sender: 'b', cost: 10 })
  await passed()
  expect(begun.slice(4)).toEqual(['short of c', 'other of b'])
  await end('short 1', 'short 2')
  start('short 4', from('b', 10))
  await passed()
  expect(begun.slice(6)).toEqual(['short 4'])
  await endAll()
})

test('running work of a single client takes three quarters, and half if it has long reads', async () => {
  const { begun, start, end, endAll } = startable(onlyCheap)
  const costs = [40, 35, 11]
  for (const cost of costs) start(`${cost}`, { sender: 'a', cost })
  for (const cost of [39, 11, 12]) start(`long ${cost}`, { sender: 'a', cost, hasLongReads: true })
  await passed()
  expect(begun).toEqual(['40', '35', 'long 39', 'long 11'])
  // Beside work of others it has a share of the rest.
  start('b', { sender: 'b', cost: 20 })
  await end('35')
  expect(begun.slice(4)).toEqual(['b'])
  await end('b')
  expect(begun.slice(4)).toEqual(['b', '11'])
  await endAll()
})

test('running work of one client leaves a share to others, which begin before its waiting work', async () => {
  const { begun, start, end, endAll } = startable(onlyCheap)
  const from = (of: string, cost = 20) => ({ sender: of, cost, hasLongReads: true })
  for (const name of ['a1', 'a2', 'a3', 'a4']) start(name, from('a'))
  await passed()
  expect(begun).toEqual(['a1', 'a2'])
  for (const name of ['b1', 'b2', 'b3']) start(name, from('b'))
  start('c1', from('c'))
  await passed()
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1'])
  // The first in turn whose share is not used up waits for capacity, and no other precedes it.
  start('d1', from('d', 80))
  start('e1', from('e'))
  await end('b1')
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'b2'])
  await end('a1', 'a2', 'b2', 'c1')
  expect(begun.slice(5, 7)).toEqual(['a3', 'd1'])
  await endAll()
  expect(begun.toSorted()).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'b3', 'c1', 'd1', 'e1'])
})

test('expensive work yields to work with long reads, too', async () => {
  const { begun, start, end, endAll } = startable({ ...options, yieldMilliseconds: 60_000 })
  start('long', { cost: 40, sender, hasLongReads: true })
  start('expensive', whole)
  await passed()
  expect(begun).toEqual(['long'])
  await end('long')
  expect(begun).toEqual(['long', 'expensive'])
  await endAll()
})

test('longer cheap work begins, however many senders have running short work', async () => {
  const admission = createAdmissionControl(onlyCheap)
  const ends: (() => void)[] = []
  const work = (): Promise<void> => new Promise((end) => void ends.push(end))
  const shorts = Array.from({ length: 20 }, (_, at) => admission.run(work, { cost: 10, sender: `s${at}` }))
  await passed()
  let isBegun = false
  await admission.run(() => void (isBegun = true), { cost: 90, sender })
  expect(isBegun).toBe(true)
  for (const end of ends) end()
  await Promise.all(shorts)
})

test('cheap and short work runs immediately, and expensive work yields to it', async () => {
  const admission = createAdmissionControl({ ...options, yieldMilliseconds: 60_000 })
  const order: string[] = []
  const first = admission.run(() => passed(5), whole)
  const cheap = admission.run(async () => {
    await passed(15)
    order.push('cheap')
  }, short)
  const second = admission.run(() => order.push('expensive'), whole)
  await Promise.all([first, cheap, second])
  expect(order).toEqual(['cheap', 'expensive'])
})

test('but expensive work is not delayed for long, however much cheap work there is', async () => {
  const admission = createAdmissionControl(options)
  let isOver = false
  const cheap = admission.run(async () => {
    while (!isOver) await passed()
  }, short)
  expect(await admission.run(() => 'it runs', whole)).toBe('it runs')
  isOver = true
  await cheap
})

test('work that is cancelled while it waits does not run, and the next one begins', async () => {
  const admission = createAdmissionControl(options)
  const gone = new AbortController()
  const ran: string[] = []
  const first = admission.run(() => passed(), whole)
  const second = admission.run(() => ran.push('second'), { ...whole, signal: gone.signal })
  const third = admission.run(() => ran.push('third'), whole)
  gone.abort()
  await expect(second).rejects.toBeInstanceOf(ReadCancelled)
  await Promise.all([first, third])
  expect(ran).toEqual(['third'])
})

test('work that fails passes its turn on', async () => {
  const admission = createAdmissionControl(options)
  const failing = admission.run(() => Promise.reject(new Error('it fails')), whole)
  const next = admission.run(() => 'it runs', whole)
  await expect(failing).rejects.toThrow('it fails')
  await expect(admission.run(() => Promise.reject(new Error('so does it')), short)).rejects.toThrow('so does it')
  expect(await next).toBe('it runs')
})

test('synchronous work keeps its turn until the event loop has polled for I/O', async () => {
  const admission = createAdmissionControl(options)
  await admission.run(() => 'done', whole)
  let hasBegun = false
  const next = admission.run(() => void (hasBegun = true), whole)
  for (let times = 0; times < 20; times++) await Promise.resolve()
  expect(hasBegun).toBe(false)
  await next
  expect(hasBegun).toBe(true)
})

test('short work precedes waiting long lists, which continue after one is cancelled', async () => {
  const admission = createAdmissionControl(onlyCheap)
  const gone = new AbortController()
  const order: string[] = []
  const { promise, resolve } = deferred()
  const first = admission.run(() => promise, whole)
  const second = admission.run(() => order.push('second'), { ...whole, signal: gone.signal })
  const third = admission.run(() => order.push('third'), whole)
  await admission.run(() => order.push('short'), short)
  gone.abort()
  await expect(second).rejects.toBeInstanceOf(ReadCancelled)
  resolve()
  await Promise.all([first, third])
  expect(order).toEqual(['short', 'third'])
})

test('senders are admitted in turn, however many operations of one wait', async () => {
  const admission = createAdmissionControl(options)
  const order: string[] = []
  const ask = (from: string): Promise<unknown> => admission.run(() => order.push(from), { cost: 100, sender: from })
  const first = admission.run(() => passed(), whole)
  const flood = Array.from({ length: 20 }, () => ask('flood'))
  await Promise.all([first, ...flood, ask('b'), ask('c')])
  expect(order.slice(0, 4)).toEqual(['flood', 'b', 'c', 'flood'])
})

test.each(kinds)('%s is refused if too much waits, of one sender or of all', async (_, kind, ofKind) => {
  const admission = createAdmissionControl({ ...ofKind, maxWaiting: 5 })
  let end: () => void = () => undefined
  const first = admission[kind](() => new Promise<void>((resolve) => (end = resolve)), whole)
  const ask = (from: string): Promise<string> => admission[kind](() => from, { cost: 100, sender: from })
  const admitted = ['a', 'a', 'a'].map(ask)
  await expect(ask('a')).rejects.toBeInstanceOf(AdmissionQueueFull)
  admitted.push(ask('b'), ask('c'))
  await expect(ask('d')).rejects.toBeInstanceOf(AdmissionQueueFull)
  end()
  expect(await Promise.all([first, ...admitted])).toEqual([undefined, 'a', 'a', 'a', 'b', 'c'])
  expect(await ask('d')).toBe('d')
})

test('after work of one kind that blocks the event loop, it pauses for as long before work of another kind', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  try {
    const admission = createAdmissionControl(options)
    await admission.run(() => void vi.advanceTimersByTime(20), whole)
    let isBegun = false
    const prepared = admission.runPreparation(() => void (isBegun = true), { cost: 50, sender })
    await vi.advanceTimersByTimeAsync(19)
    expect(isBegun).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(isBegun).toBe(true)
    await prepared
  } finally {
    vi.useRealTimers()
  }
})

test('after expensive work that together blocks one iteration of the event loop, it pauses for the total time', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  try {
    const admission = createAdmissionControl(onlyExpensive)
    const block = (): void => void (now += 20)
    await Promise.all([1, 2, 3].map(() => admission.run(block, { cost: 30, sender })))
    let isBegun = false
    const prepared = admission.runPreparation(() => void (isBegun = true), { cost: 50, sender })
    await vi.advanceTimersByTimeAsync(59)
    expect(isBegun).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(isBegun).toBe(true)
    await prepared
  } finally {
    clock.mockRestore()
    vi.useRealTimers()
  }
})

describe('senders of one network', () => {
  const ofNetwork = Array.from({ length: 6 }, (_, at) => `2001:db8:1:${at}::/64`)
  const [n0, n1, n2, n3, n4, n5] = ofNetwork as [string, string, string, string, string, string]

  test.each(kinds)('share the turns of one sender, among %s', async (_, kind, ofKind) => {
    const admission = createAdmissionControl(ofKind)
    const order: string[] = []
    const ask = (from: string): Promise<unknown> => admission[kind](() => order.push(from), { cost: 100, sender: from })
    const first = admission[kind](() => passed(), whole)
    await Promise.all([first, ...[...ofNetwork, n0, 'b', 'c', 'b'].map(ask)])
    expect(order).toEqual([n0, 'b', 'c', n1, 'b', n2, n3, n4, n5, n0])
  })

  test('have a fair share of the rest of the queue', async () => {
    const admission = createAdmissionControl({ ...options, maxWaiting: 6 })
    let end: () => void = () => undefined
    const first = admission.run(() => new Promise<void>((resolve) => (end = resolve)), whole)
    const ask = (from: string): Promise<string> => admission.run(() => from, { cost: 100, sender: from })
    const settled = Promise.allSettled([...ofNetwork, 'b'].map(ask))
    await passed()
    end()
    const results = await settled
    await first
    expect(results.map(({ status }) => status === 'fulfilled')).toEqual([true, true, true, false, false, false, true])
  })

  test('have the concurrent short work of one sender', async () => {
    const admission = createAdmissionControl(onlyCheap)
    const begun: string[] = []
    const ends: (() => void)[] = []
    const begin = (from: string, cost: number): Promise<void> =>
      admission.run(() => new Promise<void>((end) => (begun.push(from), ends.push(end))), { cost, sender: from })
    const all = [begin('long', 100), ...[...ofNetwork, 'b'].map((from) => begin(from, 10))]
    await passed()
    expect(begun).toEqual(['long', n0, n1, n2, 'b'])
    while (begun.length < all.length || ends.length > 0) {
      for (const end of ends.splice(0)) end()
      await passed()
    }
    await Promise.all(all)
  })
})
