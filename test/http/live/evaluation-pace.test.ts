import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { EvaluationPace } from '../../../src/http/live/responses/evaluation/evaluation-pace.ts'

/** Time of an evaluation that exceeds its deadline, in milliseconds. */
const deadline = 10_000

let pace: EvaluationPace
let evaluations: number

beforeEach(() => {
  vi.useFakeTimers()
  evaluations = 0
  pace = new EvaluationPace({ pushFactor: 10 }, () => evaluations++)
})

afterEach(() => {
  vi.useRealTimers()
})

/** Returns after how many seconds the next evaluation begins. */
function rest(): number {
  const before = evaluations
  pace.schedule()
  for (let seconds = 0; ; seconds++) {
    if (evaluations > before) return seconds
    vi.advanceTimersByTime(1_000)
  }
}

/** Returns the rests after so many evaluations that exceed their deadline, in seconds. */
function restsAfterFailures(failures: number): readonly number[] {
  return Array.from({ length: failures }, () => {
    pace.restAfterFailure(deadline)
    return rest()
  })
}

test('an evaluation that exceeds its deadline again and again takes a tenth of the time in the end', () => {
  expect(restsAfterFailures(6)).toEqual([10, 20, 40, 80, 100, 100])
})

test.each([
  ['another result', () => pace.rest(0, 0)],
  ['an outage is over', () => pace.shorten()],
])('an evaluation that exceeds its deadline rests shortly again once %s', (_, recover) => {
  restsAfterFailures(4)
  recover()
  expect(restsAfterFailures(2)).toEqual([10, 20])
})

test('the rest is a second at most once an outage is over', () => {
  restsAfterFailures(4)
  pace.restAfterFailure(deadline)
  pace.shorten()
  expect(rest()).toBe(1)
})
