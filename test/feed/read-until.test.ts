import { afterAll, beforeAll, expect, test, vi } from 'vitest'
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
