import { HttpRequestError } from 'viem'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { defaultFaultTimes, FaultWatch } from '../../src/chain/rpc/fault-watch.ts'
import { connectNode } from '../../src/chain/rpc/node.ts'
import type { ReaderMessage } from './support/reading.ts'

const url = 'http://127.0.0.1:9'
const node = connectNode({ url, requestsPerSecond: 10 })
const outage = (): Error => new HttpRequestError({ url, status: 502, details: '' })
const accessRefused = (id: number): Error => new HttpRequestError({ url, status: 401, details: `{"id":${id}}` })

const waited = 'The chain is waited for'
const refused = expect.stringMatching(/^The chain can't be read: .* refuses access: /) as string
const answered = 'The chain answers again'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

function startWatch() {
  const messages: ReaderMessage[] = []
  const watch = new FaultWatch({
    report: (level, message, facts) => void messages.push({ level, message, facts }),
    times: defaultFaultTimes,
    givesUp: false,
    onLastingFault: () => undefined,
  })
  return {
    /** Returns the texts of the messages since the last call. */
    takeTexts: () => messages.splice(0).map(({ message }) => message),
    /** Fails a request of a single node once a second, for some seconds, until the node answers. */
    fail(seconds: number, error: () => Error) {
      const request = watch.begin()
      for (let second = 0; second < seconds; second++) {
        request.failed(node, error())
        request.roundFailed(1_000)
        vi.advanceTimersByTime(1_000)
      }
      request.end(true)
    },
    /** Has a request answered by another node after the failure of the first one. */
    failOver(error: Error) {
      const request = watch.begin()
      request.failed(node, error)
      request.end(true)
    },
  }
}

test('short outages are logged once per interval', () => {
  const { takeTexts, fail } = startWatch()
  for (let outages = 0; outages < 100; outages++) fail(2, outage)
  expect(takeTexts()).toEqual([waited, answered])
  vi.advanceTimersByTime(defaultFaultTimes.repeatedAfter)
  fail(2, outage)
  expect(takeTexts()).toEqual([waited, answered])
})

test('an outage that lasts is logged after short ones, too', () => {
  const { takeTexts, fail } = startWatch()
  fail(2, outage)
  fail(2, outage)
  expect(takeTexts()).toEqual([waited, answered])
  fail(60, outage)
  expect(takeTexts()).toEqual([waited, answered])
})

test('a lasting fault that has ended is logged again when it lasts again', () => {
  const { takeTexts, fail } = startWatch()
  fail(60, () => accessRefused(1))
  expect(takeTexts()).toEqual([waited, refused, answered])
  fail(60, () => accessRefused(2))
  expect(takeTexts()).toEqual([refused, answered])
})

test('a node whose answers have the id of the request is warned of once per interval', () => {
  const { takeTexts, failOver } = startWatch()
  for (let id = 0; id < 100; id++) failOver(accessRefused(id))
  expect(takeTexts()).toEqual([expect.stringMatching(/^Another node is used instead: .* HTTP 401: \{"id":0\}/)])
})

test('a lasting fault whose text has the id of the request is logged once per interval', () => {
  const { takeTexts, fail } = startWatch()
  let id = 0
  fail(60, () => accessRefused(id++))
  expect(takeTexts()).toEqual([waited, refused, answered])
})
