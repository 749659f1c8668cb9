import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { SlowStart, turnsPerIteration } from '../../../src/http/server/pacing/slow-start.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('gives two turns after the rest of a long iteration, then twice as many in each', () => {
  const start = new SlowStart(10)
  expect(start.next(9, true)).toBe(turnsPerIteration)
  expect(start.next(10, true)).toBe(0)
  vi.advanceTimersByTime(19)
  expect(start.next(1, true)).toBe(0)
  vi.advanceTimersByTime(1)
  expect([1, 2, 3].map(() => start.next(1, true))).toEqual([2, 4, 8])
  expect(Array.from({ length: 8 }, () => start.next(1, true)).at(-1)).toBe(turnsPerIteration)
})

test('rests no longer where no connection comes', () => {
  const start = new SlowStart(10)
  expect(start.next(1_000, true)).toBe(0)
  expect(start.next(1, true)).toBe(0)
  expect([1, 2].map(() => start.next(1, false))).toEqual([2, 4])
})

test('gives two turns after each rest where every iteration is long and accepts connections', () => {
  const start = new SlowStart(10)
  const turns = Array.from({ length: 9 }, () => {
    vi.advanceTimersByTime(20)
    return start.next(20, true)
  })
  expect(turns).toEqual([0, 0, 2, 0, 2, 0, 2, 0, 2])
})
