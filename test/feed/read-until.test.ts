import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { DatabaseUnavailable } from '../../src/database/errors.ts'
import { createReadUntilRecorder } from '../../src/feed/read-until.ts'
import { deferred } from '../support/deferred.ts'

beforeAll(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterAll(() => void vi.useRealTimers())

test('the end of a source is not written while an earlier write waits, which may commit later', async () => {
  const write = deferred()
  let begun = 0
  const database = {
    transaction: <Result>(): Promise<Result> => {
      begun++
      return write.promise as Promise<never>
    },
  }
  const recorder = createReadUntilRecorder({
    database,
    feed: 'feed',
    line: () => 1,
    nowSeconds: () => 1_700_000_000,
    check: () => Promise.resolve(),
  })
  const atEnd = async (): Promise<void> => {
    vi.advanceTimersByTime(20_000)
    await recorder.recordEnd({ lookedAtMilliseconds: performance.now() })
  }
  await atEnd()
  await atEnd()
  expect(begun).toBe(1)
  write.resolve()
  await recorder.settled()
  await atEnd()
  expect(begun).toBe(2)
})

test('an end within a line is not written, and does not delay the end of the next whole line', async () => {
  let [checks, writes] = [0, 0]
  const recorder = createReadUntilRecorder({
    database: { transaction: <Result>() => Promise.resolve(++writes) as Promise<Result> },
    feed: 'feed',
    line: () => 1,
    nowSeconds: () => 1_700_000_000,
    check: () => Promise.resolve(void checks++),
  })
  const atEnd = async (isWithinLine: boolean): Promise<void> => {
    vi.advanceTimersByTime(200)
    await recorder.recordEnd({ lookedAtMilliseconds: performance.now(), isWithinLine })
    await recorder.settled()
  }
  for (const isWithinLine of [true, true, false, true, false]) await atEnd(isWithinLine)
  expect([checks, writes]).toEqual([2, 1])
})

test.each(['check', 'write'])('a %s that is refused is reported once, and its end; an outage is not', async (part) => {
  let error: Error | null = null
  const fail = (): Promise<void> => (error === null ? Promise.resolve() : Promise.reject(error))
  const reports: string[] = []
  const recorder = createReadUntilRecorder({
    database: { transaction: <Result>() => (part === 'write' ? fail() : Promise.resolve()) as Promise<Result> },
    feed: 'feed',
    line: () => 1,
    nowSeconds: () => 1_700_000_000,
    check: () => (part === 'check' ? fail() : Promise.resolve()),
    outageObserver: {
      onWait: ({ message }) => void reports.push(message),
      onResume: () => void reports.push('resumed'),
    },
  })
  const atEnd = async (failure: Error | null): Promise<void> => {
    error = failure
    vi.advanceTimersByTime(20_000)
    await recorder.recordEnd({ lookedAtMilliseconds: performance.now() })
    await recorder.settled()
  }
  await atEnd(new DatabaseUnavailable(new Error('gone'), 'The database does not answer.'))
  expect(reports).toEqual([])
  for (const failure of [new Error('no permission'), new Error('no permission'), null, null]) await atEnd(failure)
  expect(reports).toEqual(['no permission', 'resumed'])
})
