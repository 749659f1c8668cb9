import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AcceptPhase, SlowStart, turnsPerIteration } from '../../../src/http/server/pacing/after-long-iteration.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('two turns follow the rest after a long iteration, then twice as many in each iteration', () => {
  const start = new SlowStart(10)
  expect(start.next(9, true)).toBe(turnsPerIteration)
  expect(start.next(10, true)).toBe(0)
  vi.advanceTimersByTime(19)
  expect(start.next(1, true)).toBe(0)
  vi.advanceTimersByTime(1)
  expect([1, 2, 3].map(() => start.next(1, true))).toEqual([2, 4, 8])
  expect(Array.from({ length: 8 }, () => start.next(1, true)).at(-1)).toBe(turnsPerIteration)
})

test('the rest ends if no connection arrives', () => {
  const start = new SlowStart(10)
  expect(start.next(1_000, true)).toBe(0)
  expect(start.next(1, true)).toBe(0)
  expect([1, 2].map(() => start.next(1, false))).toEqual([2, 4])
})

test('two turns follow each rest if every iteration is long and accepts connections', () => {
  const start = new SlowStart(10)
  const turns = Array.from({ length: 9 }, () => {
    vi.advanceTimersByTime(20)
    return start.next(20, true)
  })
  expect(turns).toEqual([0, 0, 2, 0, 2, 0, 2, 0, 2])
})

test('a phase follows a long iteration that accepted a connection', () => {
  const phase = new AcceptPhase(10)
  expect(phase.next(9, true, true)).toBe(false)
  expect(phase.next(10, false, true)).toBe(false)
  expect(phase.next(10, true, false)).toBe(false)
  expect(phase.next(10, true, true)).toBe(true)
})

test('a phase follows shorter iterations in a row that each accepted a connection, and lasts as long as they took', () => {
  const phase = new AcceptPhase(10)
  const next = (hasAccepted: boolean): boolean => {
    vi.advanceTimersByTime(8)
    return phase.next(8, hasAccepted, false)
  }
  const phases = (...accepted: boolean[]): boolean[] => accepted.map(next)
  expect(phases(true, true, true, true, false)).toEqual([false, false, false, false, false])
  expect(phases(true, true, true, true, true)).toEqual([false, false, false, false, true])
  expect(phases(true, true, true, true, true)).toEqual([true, true, true, true, false])
  expect(phases(true, true, true, true, true)).toEqual([false, false, false, false, true])
})

test('a phase lasts until no connection arrives', () => {
  const phase = new AcceptPhase(10)
  expect([phase.next(1_000, true, true), phase.next(1, true, true), phase.next(1, false, true)]).toEqual([
    true,
    true,
    false,
  ])
  // Only another long iteration starts the next one.
  expect(phase.next(1, true, true)).toBe(false)
})

test('a phase lasts no longer than the iteration before it, also where its own are long', () => {
  const phase = new AcceptPhase(10)
  const taken = [20, 10, 10, 20, 25, 20].map((milliseconds) => {
    vi.advanceTimersByTime(milliseconds)
    return phase.next(milliseconds, true, true)
  })
  expect(taken).toEqual([true, true, false, true, false, true])
})
