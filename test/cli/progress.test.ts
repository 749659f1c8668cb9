import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ingestCommand } from '../../src/cli/commands/ingest.ts'
import { factsPerSecond, type ProgressSample, progressSample, timeLeft } from '../../src/cli/progress.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { fileSource } from '../../src/feed/reading/source.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { feedText } from '../support/feeds.ts'
import { midnight, strategy } from '../support/world.ts'

const moment = (seconds: number, facts: number, bytesDone: number): ProgressSample => ({
  milliseconds: 1000 * seconds,
  facts,
  bytesDone,
})

describe('a progress measurement', () => {
  const summary = { applied: { mark: 3, event: 1 }, skipped: { mark: 5 }, rejected: { mark: 2 } }

  test('counts applied and known facts, and the compressed bytes of processed lines', () => {
    const progress = { bytesRead: 100, bytesDecompressed: 1_000, bytesTotal: 400 }
    expect(progressSample(summary, 500, progress, 7)).toEqual({ milliseconds: 7, facts: 9, bytesDone: 50 })
  })

  test('of an uncompressed file has the processed bytes', () => {
    const progress = { bytesRead: 1_000, bytesDecompressed: 1_000, bytesTotal: 4_000 }
    expect(progressSample(summary, 321, progress, 7).bytesDone).toBe(321)
  })

  test('before the first read is at the beginning', () => {
    const progress = { bytesRead: 0, bytesDecompressed: 0, bytesTotal: 4_000 }
    expect(progressSample(summary, 0, progress, 7).bytesDone).toBe(0)
  })
})

test.each([
  [moment(0, 0, 0), moment(2, 900, 0), 450],
  [moment(1, 100, 0), moment(2, 100, 0), 0],
  [moment(0, 0, 0), moment(0, 10, 0), 0],
])('from %j to %j it is %d facts a second', (from, to, rate) => {
  expect(factsPerSecond(from, to)).toBe(rate)
})

test.each([
  [moment(0, 0, 0), moment(2, 0, 100), '18s'],
  [moment(0, 0, 0), moment(20, 0, 100), '3m 00s'],
  [moment(10, 0, 500), moment(20, 0, 900), '3s'],
  [moment(0, 0, 0), moment(2, 0, 1_000), '0s'],
  [moment(0, 0, 0), moment(2, 0, 0), '?'],
])('from %j to %j of 1000 bytes it has %s left', (from, to, left) => {
  expect(timeLeft(from, to, 1_000)).toBe(left)
})

describe('the progress of a feed', () => {
  /** Three chunks of a file. */
  const facts = 16_000
  /** Texts that compress poorly, so that several chunks remain. */
  const text = feedText(
    Array.from({ length: facts }, (_, index) => ({
      ...strategy('one', index),
      tagline: createHash('sha512').update(String(index)).digest('base64').repeat(3),
    })),
  )
  let folder: string
  let database: TestDatabase

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'progress-'))
    await writeFile(path.join(folder, 'plain.ndjson'), text)
    await writeFile(path.join(folder, 'packed.ndjson.gz'), gzipSync(text))
  })
  beforeEach(async () => {
    database = await emptyDatabase()
  })
  afterAll(() => rm(folder, { recursive: true }))

  test.each(['plain.ndjson', 'packed.ndjson.gz'])(
    '%s goes with what is applied, and with what is skipped',
    async (name) => {
      for (const fate of ['applied', 'skipped'] as const) {
        const source = await fileSource(path.join(folder, name))
        const total = source.byteCounts.bytesTotal ?? 0
        const percentages: number[] = []
        const onBatch: NonNullable<Parameters<typeof ingest>[0]['onBatch']> = (summary, endByte) => {
          const { facts: done, bytesDone } = progressSample(summary, endByte, source.byteCounts, 0)
          percentages.push(done)
          // All lines have similar lengths and compression ratios.
          expect(Math.abs(bytesDone / total - done / facts)).toBeLessThan(0.02)
        }
        const summary = await ingest({ database, source, onBatch })
        expect(summary[fate]).toEqual({ strategy: facts })
        expect(percentages.length).toBeGreaterThan(2)
        expect(percentages.at(-1)).toBe(facts)
      }
    },
  )

  test('is shown on a terminal: 100 % at the end, even if all facts are known', async () => {
    const shown: string[] = []
    for (let run = 0; run < 2; run++) {
      const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 200 })
      const status = await ingestCommand({
        database,
        feed: path.join(folder, 'packed.ndjson.gz'),
        skipBad: false,
        input: Readable.from([]),
        output: terminal as unknown as NodeJS.WriteStream,
        signal: new AbortController().signal,
        nowSeconds: () => midnight,
      })
      expect(status).toBe(0)
      shown.push(String(terminal.read()))
    }
    const [first = '', again = ''] = shown
    expect(first).toContain('0% | 0 applied, 0 skipped, 0/s | ? left')
    expect(first).toMatch(/100% \| 16000 applied, 0 skipped, [1-9]\d*\/s \| 0s left/)
    expect(again).toMatch(/100% \| 0 applied, 16000 skipped, [1-9]\d*\/s \| 0s left/)
  })
})
