import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ReadCancelled } from '../../src/database/cancelled.ts'
import { createTurns } from '../../src/graphql/turns.ts'

const passed = (milliseconds = 2): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))
const options = { most: 100, mostPlain: 100, shortCost: 10, patienceMilliseconds: 20 }
const short = { cost: 10 }
const whole = { cost: 100 }

test.each(['dear', 'plain'] as const)(
  'long work that is %s costs no more than its bound at once, or is one alone, and begins in order',
  async (kind) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ cost: fc.integer({ min: 11, max: 150 }), rounds: fc.nat(3) }), { maxLength: 20 }),
        async (works) => {
          const turns = createTurns(options)
          const running = new Set<number>()
          const begun: number[] = []
          const all = works.map(({ cost, rounds }, index) =>
            turns[kind](
              async () => {
                begun.push(index)
                running.add(index)
                const costs = [...running].map((each) => works[each]?.cost ?? 0)
                expect(running.size === 1 || costs.reduce((sum, each) => sum + each) <= 100).toBe(true)
                for (let round = 0; round < rounds; round++) await new Promise((resolve) => setImmediate(resolve))
                running.delete(index)
                return index
              },
              { cost },
            ),
          )
          expect(await Promise.all(all)).toEqual(works.map((_, index) => index))
          expect(begun).toEqual(works.map((_, index) => index))
        },
      ),
    )
  },
)

test('what is plain and short runs at once, and what is dear lets it go first', async () => {
  const turns = createTurns({ ...options, patienceMilliseconds: 60_000 })
  const order: string[] = []
  const first = turns.dear(() => passed(5), whole)
  const plain = turns.plain(async () => {
    await passed(15)
    order.push('plain')
  }, short)
  const second = turns.dear(() => order.push('dear'), whole)
  await Promise.all([first, plain, second])
  expect(order).toEqual(['plain', 'dear'])
})

test('but not for long, however much that is plain there is', async () => {
  const turns = createTurns(options)
  let isOver = false
  const plain = turns.plain(async () => {
    while (!isOver) await passed()
  }, short)
  expect(await turns.dear(() => 'it runs', whole)).toBe('it runs')
  isOver = true
  await plain
})

test('what is given up while it waits does not run, and lets the next one', async () => {
  const turns = createTurns(options)
  const gone = new AbortController()
  const ran: string[] = []
  const first = turns.dear(() => passed(), whole)
  const second = turns.dear(() => ran.push('second'), { ...whole, signal: gone.signal })
  const third = turns.dear(() => ran.push('third'), whole)
  gone.abort()
  await expect(second).rejects.toBeInstanceOf(ReadCancelled)
  await Promise.all([first, third])
  expect(ran).toEqual(['third'])
})

test('work that fails gives its turn on', async () => {
  const turns = createTurns(options)
  const failing = turns.dear(() => Promise.reject(new Error('it fails')), whole)
  const next = turns.dear(() => 'it runs', whole)
  await expect(failing).rejects.toThrow('it fails')
  await expect(turns.plain(() => Promise.reject(new Error('so does it')), short)).rejects.toThrow('so does it')
  expect(await next).toBe('it runs')
})

test('what is done at once keeps its turn until the network has had its own', async () => {
  const turns = createTurns(options)
  await turns.dear(() => 'done', whole)
  let hasBegun = false
  const next = turns.dear(() => void (hasBegun = true), whole)
  for (let times = 0; times < 20; times++) await Promise.resolve()
  expect(hasBegun).toBe(false)
  await next
  expect(hasBegun).toBe(true)
})

test('what is short goes past long lists that wait, which go on where one is given up', async () => {
  const turns = createTurns(options)
  const gone = new AbortController()
  const order: string[] = []
  const first = turns.plain(() => passed(15), whole)
  const second = turns.plain(() => order.push('second'), { ...whole, signal: gone.signal })
  const third = turns.plain(() => order.push('third'), whole)
  await turns.plain(() => order.push('short'), short)
  gone.abort()
  await expect(second).rejects.toBeInstanceOf(ReadCancelled)
  await Promise.all([first, third])
  expect(order).toEqual(['short', 'third'])
})
