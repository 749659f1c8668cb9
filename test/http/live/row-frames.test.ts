import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Cancellation, Canceller } from '../../../src/database/cancellation.ts'
import { ReadCancelled } from '../../../src/database/errors.ts'
import type { StreamedRow } from '../../../src/graphql/ledger-log.ts'
import { type RowFormat, RowFrames } from '../../../src/http/live/ledger/row-frames.ts'
import { liveLimits } from '../../../src/limits/live.ts'
import { heapBytes } from '../../support/heap.ts'

/** Cancellation of a stream that stays open. */
const open = new Canceller()

const framesOf = (frameBytes: number, rowMilliseconds: number = liveLimits.rowMilliseconds) =>
  new RowFrames({ frameBytes, rowMilliseconds })

const row = (cursor: string): StreamedRow => ({ cursor }) as StreamedRow

/** Returns a format with frames of this length, and the rows whose frames it has produced. */
function formatOf(
  name: string,
  bytes: number,
  sender = 'one',
): { readonly format: RowFormat; readonly made: string[] } {
  const made: string[] = []
  const nothing = Buffer.alloc(0)
  const frame = ({ cursor }: StreamedRow): Promise<Buffer> => {
    made.push(cursor)
    return Promise.resolve(Buffer.alloc(bytes))
  }
  const reset = () => ({ frame: nothing, isEnd: false })
  return { format: { name, sender, frame, reset, staleFrame: nothing, freshFrame: nothing }, made }
}

test('a frame is produced once for all streams of its format', async () => {
  const frames = framesOf(10_000)
  const { format, made } = formatOf('one', 100)
  const [first, second] = [row('1.1.1'), row('1.1.2')]
  const both = await Promise.all([frames.of(first, format, open), frames.of(first, format, open)])
  expect(both[0]).toBe(both[1])
  expect(await frames.of(first, format, open)).toBe(both[0])
  await frames.of(second, format, open)
  // Its vault may have changed since.
  await frames.of(row('1.1.1'), format, open)
  expect(made).toEqual(['1.1.1', '1.1.2', '1.1.1'])
})

test('a frame is produced again after a failure', async () => {
  const frames = framesOf(10_000)
  const { format, made } = formatOf('one', 100)
  const one = row('1.1.1')
  await expect(frames.of(one, { ...format, frame: () => Promise.reject(new Error('away')) }, open)).rejects.toThrow(
    'away',
  )
  await frames.of(one, format, open)
  expect(made).toHaveLength(1)
})

test('a stream does not join the production of a frame that all its streams have left', async () => {
  const frames = framesOf(10_000)
  const { format, made } = formatOf('one', 100)
  const one = row('1.1.1')
  const leaving = new Canceller()
  const left = frames.of(one, { ...format, frame: () => new Promise<never>(() => undefined) }, leaving)
  leaving.abort()
  // At once: the production is still about to end.
  expect(await frames.of(one, format, open)).toHaveLength(100)
  await expect(left).rejects.toThrow(ReadCancelled)
  expect(made).toEqual(['1.1.1'])
})

test('frames of any number of formats take no more than their limit while their rows are in memory', async () => {
  const frames = framesOf(1_000_000)
  const rows = Array.from({ length: 100 }, (_, at) => row(`1.1.${at + 1}`))
  heapBytes()
  const before = process.memoryUsage().arrayBuffers
  for (let count = 0; count < 20; count++) {
    const { format } = formatOf(`format ${count}`, 50_000)
    for (const one of rows) await frames.of(one, format, open)
  }
  heapBytes()
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(5_000_000)
  expect(rows).toHaveLength(100)
})

test('a sender of many formats does not evict the frames of others', async () => {
  const frames = framesOf(10_000)
  const rows = Array.from({ length: 5 }, (_, at) => row(`1.1.${at + 1}`))
  const { format, made } = formatOf('of all', 100, 'streams')
  for (const one of rows) await frames.of(one, format, open)
  for (let count = 0; count < 50; count++) {
    const own = formatOf(`format ${count}`, 100, '192.0.2.1')
    for (const one of rows) await frames.of(one, own.format, open)
  }
  for (const one of rows) await frames.of(one, format, open)
  expect(made).toHaveLength(rows.length)
})

/** Returns a format whose frames are produced when the test releases them. */
function heldFormat(sender: string) {
  const { format } = formatOf('shared', 100)
  const signals: Cancellation[] = []
  let release = (): void => undefined
  const frame = (_: StreamedRow, signal: Cancellation): Promise<Buffer> => {
    signals.push(signal)
    return new Promise((resolve) => (release = () => resolve(Buffer.from(sender))))
  }
  return { format: { ...format, sender, frame }, signals, release: () => release() }
}

test('a frame that another sender produces is awaited for a short time only, and the first result is used', async () => {
  const frames = framesOf(10_000)
  const [slow, own, one] = [heldFormat('slow'), heldFormat('own'), row('1.1.1')]
  const ofSlow = frames.of(one, slow.format, open)
  const ofOwn = frames.of(one, own.format, open)
  expect(own.signals).toHaveLength(0)
  await expect.poll(() => own.signals).toHaveLength(1)
  own.release()
  expect((await ofOwn).toString()).toBe('own')
  slow.release()
  await ofSlow
  expect((await frames.of(one, slow.format, open)).toString()).toBe('own')
})

test('a frame is produced after the production of another sender has failed', async () => {
  const frames = framesOf(10_000)
  const { format } = formatOf('shared', 100)
  const one = row('1.1.1')
  const failing = frames.of(one, { ...format, sender: 'other', frame: () => Promise.reject(new Error('away')) }, open)
  const own = frames.of(one, format, open)
  await expect(failing).rejects.toThrow('away')
  expect(await own).toHaveLength(100)
})

test('a frame that takes too long is cancelled', async () => {
  const frames = framesOf(10_000, 20)
  const { format, signals } = heldFormat('one')
  await expect(frames.of(row('1.1.1'), format, open)).rejects.toThrow(ReadCancelled)
  expect(signals[0]?.aborted).toBe(true)
})

test('a frame is cancelled when all streams that wait for it have closed', async () => {
  const frames = framesOf(10_000)
  const { format, signals } = heldFormat('one')
  const [first, second, one] = [new Canceller(), new Canceller(), row('1.1.1')]
  const both = [first, second].map((closing) => frames.of(one, format, closing))
  first.abort()
  await wait(1)
  expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  second.abort()
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  for (const each of both) await expect(each).rejects.toThrow(ReadCancelled)
})
