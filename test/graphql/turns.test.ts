import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ReadCancelled } from '../../src/database/cancelled.ts'
import { createTurns } from '../../src/graphql/turns.ts'

const passed = (milliseconds = 2): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))
const options = { most: 100, patienceMilliseconds: 20 }

test('what is dear and runs costs no more than the bound at once, or is one alone, and begins in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ cost: fc.integer({ min: 11, max: 150 }), rounds: fc.nat(3) }), { maxLength: 20 }),
      async (works) => {
        const turns = createTurns(options)
        const running = new Set<number>()
        const begun: number[] = []
        const all = works.map(({ cost, rounds }, index) =>
          turns.dear(cost, undefined, async () => {
            begun.push(index)
            running.add(index)
            const costs = [...running].map((each) => works[each]?.cost ?? 0)
            expect(running.size === 1 || costs.reduce((sum, each) => sum + each) <= 100).toBe(true)
            for (let round = 0; round < rounds; round++) await new Promise((resolve) => setImmediate(resolve))
            running.delete(index)
            return index
          }),
        )
        expect(await Promise.all(all)).toEqual(works.map((_, index) => index))
        expect(begun).toEqual(works.map((_, index) => index))
      },
    ),
  )
})

test('what is plain runs at once, and what is dear lets it go first', async () => {
  const turns = createTurns({ ...options, patienceMilliseconds: 60_000 })
  const order: string[] = []
  const first = turns.dear(100, undefined, () => passed(5))
  const plain = turns.plain(async () => {
    await passed(15)
    order.push('plain')
  })
  const second = turns.dear(100, undefined, () => order.push('dear'))
  await Promise.all([first, plain, second])
  expect(order).toEqual(['plain', 'dear'])
})

test('but not for long, however much that is plain there is', async () => {
  const turns = createTurns(options)
  let isOver = false
  const plain = turns.plain(async () => {
    while (!isOver) await passed()
  })
  expect(await turns.dear(100, undefined, () => 'it runs')).toBe('it runs')
  isOver = true
  await plain
})

test('what is given up while it waits does not run, and lets the next one', async () => {
  const turns = createTurns(options)
  const gone = new AbortController()
  const ran: string[] = []
  const first = turns.dear(100, undefined, () => passed())
  const second = turns.dear(100, gone.signal, () => ran.push('second'))
  const third = turns.dear(100, undefined, () => ran.push('third'))
  gone.abort()
  await expect(second).rejects.toBeInstanceOf(ReadCancelled)
  await Promise.all([first, third])
  expect(ran).toEqual(['third'])
})

test('work that fails gives its turn on', async () => {
  const turns = createTurns(options)
  const failing = turns.dear(100, undefined, () => Promise.reject(new Error('it fails')))
  const next = turns.dear(100, undefined, () => 'it runs')
  await expect(failing).rejects.toThrow('it fails')
  await expect(turns.plain(() => Promise.reject(new Error('so does it')))).rejects.toThrow('so does it')
  expect(await next).toBe('it runs')
})

test('what is done at once keeps its turn until the network has had its own', async () => {
  const turns = createTurns(options)
  await turns.dear(100, undefined, () => 'done')
  let hasBegun = false
  const next = turns.dear(100, undefined, () => void (hasBegun = true))
  for (let times = 0; times < 20; times++) await Promise.resolve()
  expect(hasBegun).toBe(false)
  await next
  expect(hasBegun).toBe(true)
})
