import { describe, expect, test } from 'vitest'
import type { Batch } from '../../src/feed/batch.ts'
import { readSegments } from '../../src/feed/read-segments.ts'
import type { Line } from '../../src/feed/reading/lines.ts'
import type { ByteSource, Source } from '../../src/feed/reading/source.ts'
import { timePasses } from '../support/time-passes.ts'
import { feedOf } from '../support/world.ts'

describe('a source', () => {
  /** Reads the first segment, and waits. */
  async function begin(source: Source) {
    const parsed: number[] = []
    const parse = (lines: readonly Line[]): Promise<Batch> => {
      parsed.push(lines.length)
      return Promise.resolve({ lines, parsed: [] })
    }
    const segments = readSegments(source, 0, parse)[Symbol.asyncIterator]()
    await segments.next()
    await timePasses(100)
    return { parsed, segments }
  }

  test('that ends is read and parsed one list ahead', async () => {
    const { parsed, segments } = await begin(feedOf(['1', '2', '3', '4', '5'], 2))
    expect(parsed).toEqual([2, 2])
    await segments.next()
    await segments.next()
    expect(parsed).toEqual([2, 2, 1])
    expect(await segments.next()).toEqual({ done: true, value: undefined })
  })

  test('that grows is not read before its lines are applied', async () => {
    let chunksRead = 0
    const source: ByteSource = { ...feedOf([]), chunks: chunks(), onEnd: () => undefined }
    async function* chunks(): AsyncGenerator<Buffer> {
      for (; chunksRead < 2; chunksRead++) yield await Promise.resolve(Buffer.from('1\n'))
    }
    const { parsed } = await begin(source)
    expect({ parsed, chunksRead }).toEqual({ parsed: [], chunksRead: 0 })
  })

  test('that fails has its earlier lines applied first', async () => {
    const source: ByteSource = { ...feedOf([]), chunks: chunks() }
    async function* chunks(): AsyncGenerator<Buffer> {
      yield await Promise.resolve(Buffer.from('1\n'))
      throw new Error('cut')
    }
    const { parsed, segments } = await begin(source)
    expect(parsed).toEqual([1])
    await expect(segments.next()).rejects.toThrow('cut')
  })
})
