import { expect, test } from 'vitest'
import type { StreamedRow } from '../../../src/graphql/ledger-log.ts'
import { type RowFormat, RowFrames } from '../../../src/http/live/ledger/row-frames.ts'
import { heapBytes } from '../../support/heap.ts'

const row = (cursor: string): StreamedRow => ({ cursor }) as StreamedRow

/** A format whose frames are of so many bytes, and the rows that it made frames of. */
function formatOf(name: string, bytes: number): { readonly format: RowFormat; readonly made: string[] } {
  const made: string[] = []
  const nothing = Buffer.alloc(0)
  const frame = ({ cursor }: StreamedRow): Promise<Buffer> => {
    made.push(cursor)
    return Promise.resolve(Buffer.alloc(bytes))
  }
  const reset = () => ({ frame: nothing, isEnd: false })
  return { format: { name, frame, reset, staleFrame: nothing, freshFrame: nothing }, made }
}

test('a frame is made once for all streams of its format', async () => {
  const frames = new RowFrames(10_000)
  const { format, made } = formatOf('one', 100)
  const [first, second] = [row('1.1.1'), row('1.1.2')]
  const both = await Promise.all([frames.of(first, format), frames.of(first, format)])
  expect(both[0]).toBe(both[1])
  expect(await frames.of(first, format)).toBe(both[0])
  await frames.of(second, format)
  // Its vault may have changed since.
  await frames.of(row('1.1.1'), format)
  expect(made).toEqual(['1.1.1', '1.1.2', '1.1.1'])
})

test('a frame that could not be made is made again', async () => {
  const frames = new RowFrames(10_000)
  const { format, made } = formatOf('one', 100)
  const one = row('1.1.1')
  await expect(frames.of(one, { ...format, frame: () => Promise.reject(new Error('away')) })).rejects.toThrow('away')
  await frames.of(one, format)
  expect(made).toHaveLength(1)
})

test('frames of as many formats as clients choose take no more than their limit while their rows are in memory', async () => {
  const frames = new RowFrames(1_000_000)
  const rows = Array.from({ length: 100 }, (_, at) => row(`1.1.${at + 1}`))
  heapBytes()
  const before = process.memoryUsage().arrayBuffers
  for (let count = 0; count < 20; count++) {
    const { format } = formatOf(`format ${count}`, 50_000)
    for (const one of rows) await frames.of(one, format)
  }
  heapBytes()
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(5_000_000)
  expect(rows).toHaveLength(100)
})
