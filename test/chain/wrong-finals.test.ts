import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { WrongFinals } from '../../src/chain/rpc/newest/wrong-finals.ts'
import { shortFaultTimes } from './support/reading.ts'

const final = { number: 9, node: 'one' } as Parameters<WrongFinals['add']>[0]
const missing = 5

test('a reader that does not follow the chain gives up when wrong final blocks have lasted', async () => {
  const times = { ...shortFaultTimes, reportedAfter: 100, givesUpAfter: 100 }
  const finals = new WrongFinals({ report: () => undefined, once: true, times })
  for (let nth = 0; nth < 8; nth++) finals.add(final, missing)
  // A timer may fire before its time.
  const until = performance.now() + times.reportedAfter + times.givesUpAfter
  while (performance.now() < until) await wait(10)
  expect(() => finals.add(final, missing)).toThrow("the node one names block 9 as final, and block 5 isn't there")
  finals.reset()
  for (let nth = 0; nth < 8; nth++) finals.add(final, missing)
})

test('wrong final blocks that last are logged, although many have passed before', () => {
  const messages: unknown[][] = []
  const report = (level: string, _message: string, { times }: Readonly<Record<string, unknown>>): void =>
    void messages.push([level, times])
  const finals = new WrongFinals({ report, once: false, times: shortFaultTimes })
  for (let nth = 1; nth <= 600; nth++) {
    finals.add(final, missing)
    finals.reset()
  }
  expect(messages).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512].map((times) => ['warn', times]))
  messages.length = 0
  for (let nth = 1; nth <= 20; nth++) finals.add(final, missing)
  expect(messages).toEqual([3, 4, 8, 16].map((nth) => ['error', 600 + nth]))
})
