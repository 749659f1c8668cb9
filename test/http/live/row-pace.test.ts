import { performance } from 'node:perf_hooks'
import { expect, test, vi } from 'vitest'
import { RowPace } from '../../../src/http/live/ledger/row-pace.ts'

const busyMilliseconds = 40

async function keepBusy(milliseconds = busyMilliseconds): Promise<void> {
  const until = performance.now() + milliseconds
  while (performance.now() < until);
  return Promise.resolve()
}

test('after a group that blocked the event loop, no group of any stream begins for the same time', async () => {
  const pace = new RowPace()
  const begunAt: number[] = []
  const endedAt: number[] = []
  const group = async (): Promise<void> => {
    begunAt.push(performance.now())
    await keepBusy()
    endedAt.push(performance.now())
  }
  await pace.produce(group)
  await Promise.all([pace.produce(group), pace.produce(group)])
  expect(begunAt).toHaveLength(3)
  const [firstEnded = NaN] = endedAt
  for (const at of begunAt.slice(1)) expect(at - firstEnded).toBeGreaterThan(busyMilliseconds / 2)
})

test('a group whose rows wait for the database is followed by the next one', async () => {
  const pace = new RowPace()
  const waiting = vi
    .spyOn(performance, 'eventLoopUtilization')
    .mockReturnValue({ active: 5, idle: 6, utilization: 0.45 })
  await pace.produce(() => Promise.resolve())
  waiting.mockRestore()
  let hasBegun = false
  const next = pace.produce(() => Promise.resolve(void (hasBegun = true)))
  await Promise.resolve()
  expect(hasBegun).toBe(true)
  await next
})

test('a rest is short, however long other work blocked the event loop during a group', async () => {
  const pace = new RowPace()
  const hours = vi.spyOn(performance, 'eventLoopUtilization').mockReturnValue({ active: 1e7, idle: 0, utilization: 1 })
  await pace.produce(() => Promise.resolve())
  hours.mockRestore()
  await expect(pace.produce(() => Promise.resolve('made'))).resolves.toBe('made')
})

test('a failure reaches the stream whose rows they are, and the next group begins', async () => {
  const pace = new RowPace()
  await expect(pace.produce(() => Promise.reject(new Error('no such row')))).rejects.toThrow('no such row')
  await expect(pace.produce(() => Promise.resolve('made'))).resolves.toBe('made')
})
