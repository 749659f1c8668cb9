import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ReadCancelled } from '../../src/database/cancelled.ts'
import { createTurns } from '../../src/graphql/turns.ts'

const passed = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2))

test('what runs costs no more than the bound at once, or is one alone, and begins in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ cost: fc.integer({ min: 11, max: 150 }), rounds: fc.nat(3) }), { maxLength: 20 }),
      async (works) => {
        const takeTurn = createTurns(100, 10)
        const running = new Set<number>()
        const begun: number[] = []
        const all = works.map(({ cost, rounds }, index) =>
          takeTurn(cost, undefined, async () => {
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

test('what costs little runs at once', async () => {
  const takeTurn = createTurns(100, 10)
  const dear = takeTurn(100, undefined, passed)
  let hasRun = false
  await takeTurn(10, undefined, () => void (hasRun = true))
  expect(hasRun).toBe(true)
  await dear
})

test('what is given up while it waits does not run, and lets the next one', async () => {
  const takeTurn = createTurns(100, 10)
  const gone = new AbortController()
  const ran: string[] = []
  const first = takeTurn(100, undefined, passed)
  const second = takeTurn(100, gone.signal, () => ran.push('second'))
  const third = takeTurn(100, undefined, () => ran.push('third'))
  gone.abort()
  await expect(second).rejects.toBeInstanceOf(ReadCancelled)
  await Promise.all([first, third])
  expect(ran).toEqual(['third'])
})

test('work that fails gives its turn on', async () => {
  const takeTurn = createTurns(100, 10)
  const failing = takeTurn(100, undefined, () => Promise.reject(new Error('it fails')))
  const next = takeTurn(100, undefined, () => 'it runs')
  await expect(failing).rejects.toThrow('it fails')
  expect(await next).toBe('it runs')
})
