import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type CommitReports } from '../../../src/database/commits/change-listener.ts'
import { pollCommits } from '../../../src/database/commits/poll-commits.ts'

/* A server that sends no notifications, as a standby. The tests move the clock themselves. */

let polls: number
let reports: CommitReports

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  polls = 0
  const connect = () => Promise.resolve({ read: () => Promise.resolve([poll()]), close: () => Promise.resolve() })
  const ignore = (): void => undefined
  const listener = { committed: ignore, listening: ignore, upToDate: ignore }
  reports = pollCommits({ connect, answerMilliseconds: null }, listener)
  await vi.advanceTimersByTimeAsync(0)
})
afterEach(async () => {
  await reports.stop()
  vi.useRealTimers()
})

function poll() {
  polls++
  return { isStandby: true, seq: null }
}

test('a request for a poll starts it after the minimum pause', async () => {
  const before = polls
  reports.pollSoon()
  await vi.advanceTimersByTimeAsync(9)
  expect(polls).toBe(before)
  await vi.advanceTimersByTimeAsync(1)
  expect(polls).toBe(before + 1)
})

test('many requests start one poll', async () => {
  const before = polls
  for (let requests = 0; requests < 100; requests++) reports.pollSoon()
  await vi.advanceTimersByTimeAsync(50)
  expect(polls).toBe(before + 1)
})

test('without a request, polls follow their interval', async () => {
  const before = polls
  await vi.advanceTimersByTimeAsync(99)
  expect(polls).toBe(before)
  await vi.advanceTimersByTimeAsync(1)
  expect(polls).toBe(before + 1)
})
