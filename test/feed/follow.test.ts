import { appendFileSync } from 'node:fs'
import { appendFile, mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { readFeedPosition, saveReadUntil } from '../../src/database/write/feed.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import type { Summary } from '../../src/feed/summary.ts'
import { ingest, type IngestOptions } from '../../src/feed/ingest.ts'
import { followedSource } from '../../src/feed/reading/followed-source.ts'
import { type ByteSource, fileSource } from '../../src/feed/reading/source.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { feedText } from '../support/feeds.ts'
import { apply, deposit, mark, midnight, opened, strategy, vaultA, vaultB } from '../support/world.ts'

const start: FactInput[] = [strategy('one'), opened(vaultA, 'one'), deposit(vaultA, midnight + 10, '100')]
const marks = [101, 102, 103, 104].map((valueUsd, index) => mark(vaultA, midnight + 20 + index, `${valueUsd}`))
const [first, second, third] = marks as [FactInput, FactInput, FactInput, FactInput]
const lineOf = (fact: FactInput): string => feedText([fact])

let folder: string
let feed: string
let database: TestDatabase
let feeds = 0
let running: Following[] = []

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'follow-'))
})
beforeEach(async () => {
  database = await emptyDatabase()
  feed = path.join(folder, `${feeds++}.ndjson`)
  await writeFile(feed, feedText(start))
})
afterEach(async () => {
  await Promise.allSettled(running.map((following) => following.stop()))
  running = []
})
afterAll(() => rm(folder, { recursive: true }))

/** A feed that is followed in the background. */
interface Following {
  readonly source: ByteSource
  readonly ended: Promise<Summary>
  stop(): Promise<Summary>
}

async function follow(options: Pick<IngestOptions, 'nowSeconds' | 'onBatch'> = {}): Promise<Following> {
  const stopping = new AbortController()
  const source = await followedSource(feed, await readFeedPosition(database.prisma, feed), stopping.signal)
  const ended = ingest({ database, source, signal: stopping.signal, ...options })
  ended.catch(() => undefined)
  const following: Following = {
    source,
    ended,
    stop: () => {
      stopping.abort()
      return ended
    },
  }
  running.push(following)
  return following
}

async function valueUsd(): Promise<string | undefined> {
  const vault = await database.prisma.vault.findFirst()
  return vault?.valueUsd.toFixed(0)
}

function eventually(check: () => Promise<void> | void): Promise<void> {
  return vi.waitFor(check, { timeout: 30_000, interval: 20 })
}

const becomes = (expected: string): Promise<void> => eventually(async () => expect(await valueUsd()).toBe(expected))
const isReadTo = ({ source }: Following, bytes: number): Promise<void> =>
  eventually(() => expect(source.byteCounts.bytesRead).toBe(bytes))

describe('a feed that is followed', () => {
  test('is applied from its beginning, and continued as lines are appended', async () => {
    const following = await follow()
    await becomes('100')
    await appendFile(feed, lineOf(first))
    await becomes('101')
    await appendFile(feed, lineOf(second) + lineOf(third))
    await becomes('103')
    expect(await following.stop()).toEqual({
      applied: { strategy: 1, vault: 1, event: 1, mark: 3 },
      skipped: {},
      rejected: {},
    })
  })

  test('waits for the rest of half a line', async () => {
    const following = await follow()
    const line = lineOf(first)
    await appendFile(feed, line.slice(0, 40))
    await isReadTo(following, feedText(start).length + 40)
    await appendFile(feed, line.slice(40, -1))
    await isReadTo(following, feedText(start).length + line.length - 1)
    expect(await valueUsd()).toBe('100')
    await appendFile(feed, '\n')
    await becomes('101')
  })

  test('leaves half a line for the next run where it is stopped', async () => {
    const following = await follow()
    await appendFile(feed, lineOf(first).slice(0, -1))
    await isReadTo(following, feedText(start).length + lineOf(first).length - 1)
    expect((await following.stop()).applied).toEqual({ strategy: 1, vault: 1, event: 1 })
    expect(await valueUsd()).toBe('100')

    const next = await follow()
    await appendFile(feed, '\n')
    await becomes('101')
    expect(await next.stop()).toEqual({ applied: { mark: 1 }, skipped: {}, rejected: {} })
  })

  test('ends in the same state as in one run', async () => {
    const following = await follow()
    for (const fact of marks) await appendFile(feed, lineOf(fact))
    await becomes('104')
    await following.stop()
    const followed = await dumpReadModel(database)
    await emptyDatabase()
    await apply(database, [...start, ...marks])
    expect(await dumpReadModel(database)).toEqual(followed)
  })

  test('is read to its end where it is gzipped, and continued where another file replaces it', async () => {
    await writeFile(feed, gzipSync(feedText([...start, first])))
    await follow()
    await becomes('101')
    await writeFile(`${feed}.new`, lineOf(second))
    await rename(`${feed}.new`, feed)
    await becomes('102')
  })

  test('is read with a last line without newline where it is gzipped', async () => {
    const facts = [...start, first]
    await writeFile(feed, gzipSync(feedText(facts).trimEnd()))
    const following = await follow()
    await becomes('101')
    expect(await readFeedPosition(database.prisma, feed)).toMatchObject({ line: facts.length })
    await following.stop()
    await follow()
    await writeFile(`${feed}.new`, lineOf(second))
    await rename(`${feed}.new`, feed)
    await becomes('102')
  })

  test('may be empty at first', async () => {
    await writeFile(feed, '')
    await follow()
    await appendFile(feed, feedText([...start, first]))
    await becomes('101')
  })

  test('stops at a bad line with its number', async () => {
    const following = await follow()
    await appendFile(feed, `\n${lineOf(first)}{"kind":"trade"}\n${lineOf(second)}`)
    await expect(following.ended).rejects.toThrow(`${feed}, line 6: kind is "trade", which is no kind of fact`)
    expect(await valueUsd()).toBe('101')
  })

  test('ends with an error where it shrinks', async () => {
    const following = await follow()
    await becomes('100')
    await truncate(feed, 10)
    await expect(following.ended).rejects.toThrow(`${feed} has become shorter than what was read`)
    expect(await valueUsd()).toBe('100')
  })
})

describe('a feed that is followed again', () => {
  test('resumes at the applied position', async () => {
    const following = await follow()
    await becomes('100')
    await following.stop()
    await appendFile(feed, lineOf(first))
    const next = await follow()
    await becomes('101')
    expect(next.source.start).toMatchObject({ line: start.length, byte: feedText(start).length })
    expect(next.source.byteCounts.bytesRead).toBe(lineOf(first).length)
    expect((await next.stop()).skipped).toEqual({})
  })

  test('resumes where a run without following ended', async () => {
    await ingest({ database, source: await fileSource(feed) })
    await appendFile(feed, lineOf(first))
    const next = await follow()
    await becomes('101')
    expect(await next.stop()).toEqual({ applied: { mark: 1 }, skipped: {}, rejected: {} })
  })

  describe.each(['', '\n'])('reads no line again of a gzipped file, which ends with %j', (end) => {
    const facts = [...start, first]
    const packed = (lines: readonly FactInput[]): Buffer => gzipSync(`${feedText(lines).trimEnd()}${end}`)
    const nothing = { applied: {}, skipped: {}, rejected: {} }

    test('while it is followed', async () => {
      await writeFile(feed, packed(facts))
      await ingest({ database, source: await fileSource(feed) })
      const next = await follow()
      expect(next.source.start).toMatchObject({ line: facts.length })
      await writeFile(`${feed}.new`, lineOf(second))
      await rename(`${feed}.new`, feed)
      await becomes('102')
      expect(await next.stop()).toEqual({ ...nothing, applied: { mark: 1 } })
    })

    test('unless it has become longer in place', async () => {
      await writeFile(feed, packed(facts))
      await ingest({ database, source: await fileSource(feed) })
      await writeFile(feed, packed([...facts, second]))
      const next = await follow()
      await becomes('102')
      expect((await next.stop()).applied).toEqual({ mark: 1 })
    })

    test('unless it is damaged since, which is an error', async () => {
      await writeFile(feed, packed(facts))
      await ingest({ database, source: await fileSource(feed) })
      await writeFile(feed, packed(facts).subarray(0, -3))
      await expect((await follow()).ended).rejects.toThrow("can't be unpacked to its end")
    })
  })

  test('continues to count its lines, also where its last one had no newline yet', async () => {
    await writeFile(feed, feedText(start).trimEnd())
    await ingest({ database, source: await fileSource(feed) })
    await appendFile(feed, `\n${lineOf(first)}{}\n`)
    await expect((await follow()).ended).rejects.toThrow(`${feed}, line 5: kind is missing`)
    expect(await valueUsd()).toBe('101')
  })

  test('applies a complete line whose first half was rejected before', async () => {
    const half = lineOf(first).slice(0, 40)
    await appendFile(feed, half)
    const rejects = { file: '', write: () => Promise.resolve() }
    expect((await ingest({ database, source: await fileSource(feed), rejects })).rejected).toEqual({ unreadable: 1 })
    await appendFile(feed, lineOf(first).slice(40))
    const next = await follow()
    await becomes('101')
    expect((await next.stop()).rejected).toEqual({})
  })

  const others: FactInput[] = [strategy('two'), opened(vaultB, 'two'), deposit(vaultB, midnight + 10, '100')]

  test.each<[string, FactInput[]]>([
    ['is shorter', others.slice(0, 1)],
    ['is as long', others],
    ['is longer', [...others, mark(vaultB, midnight + 20, '1')]],
  ])(
    'is read from its start where it was replaced by one that %s, and the operator is notified',
    async (_name, replacement) => {
      await ingest({ database, source: await fileSource(feed) })
      const last = await readFeedPosition(database.prisma, feed)
      const notices: unknown[] = []
      const watcher = {
        onMissing: notices.push,
        onFound: notices.push,
        onRotated: notices.push,
        onChangedInPlace: notices.push,
        onLateLines: notices.push,
        onGzipEnd: notices.push,
        onLeft: notices.push,
        onOtherFile: (position: unknown) => void notices.push(position),
      }
      const open = () => followedSource(feed, last, new AbortController().signal, watcher)
      await (await open()).close?.()
      expect(notices).toEqual([])
      await writeFile(feed, feedText(replacement))
      await (await open()).close?.()
      expect(notices).toEqual([last])
      const next = await follow()
      await eventually(async () => {
        expect(await database.prisma.strategy.findUnique({ where: { id: 'two' } })).not.toBeNull()
        const position = await readFeedPosition(database.prisma, feed)
        expect(position).toMatchObject({ line: replacement.length, byte: feedText(replacement).length })
      })
      expect(next.source.start).toEqual({ line: 0, byte: 0 })
      const { applied, skipped } = await next.stop()
      expect(Object.values(applied)).toHaveLength(replacement.length)
      expect(skipped).toEqual({})
    },
  )
})

describe('how far a feed was read', () => {
  const stored = async () => {
    const row = await database.prisma.feed.findUnique({ where: { name: feed } })
    const { line = null, readUntil = null, newestFactAt = null, blockNumber = null } = row ?? {}
    // A followed feed has 0 until it is read to its end.
    return [line, readUntil === 0n ? null : readUntil, newestFactAt, blockNumber].map((value) =>
      value === null ? null : Number(value),
    )
  }
  const commits = () => database.prisma.commitLog.count()

  test('is written at its end, as the time of the check that found no more lines, without a commit', async () => {
    const now = midnight + 1_000.9
    await follow({ nowSeconds: () => now })
    await eventually(async () => expect(await stored()).toEqual([3, expect.any(Number), midnight + 10, null]))
    const [, readUntil] = await stored()
    // A check takes less than the timeout of the test, a minute.
    expect(readUntil).toBeLessThanOrEqual(midnight + 1_000)
    expect(readUntil).toBeGreaterThan(midnight + 900)
    expect(await commits()).toBe(1)
  })

  test('is written while each read finds further lines', async () => {
    let [lines, isRecorded] = [0, false]
    const onBatch = (): void => {
      // Fails after this many lines: a fault would keep it from being recorded for ever.
      if (!isRecorded && lines < 3_000) appendFileSync(feed, lineOf(mark(vaultA, midnight + 100 + lines++, '100')))
    }
    const { stop } = await follow({ nowSeconds: () => midnight + 10_000, onBatch })
    await eventually(async () => expect((await stored())[1]).not.toBeNull())
    isRecorded = true
    await stop()
    expect(lines).toBeGreaterThan(1)
    expect(lines).toBeLessThan(3_000)
  })

  test('is written where the stored time is later, from a clock that was ahead', async () => {
    const { stop } = await follow({ nowSeconds: () => midnight + 9_000_000 })
    await eventually(async () => expect((await stored())[1]).toBeGreaterThan(midnight + 8_000_000))
    await stop()
    await follow({ nowSeconds: () => midnight + 1_000 })
    await eventually(async () => expect((await stored())[1]).toBeLessThanOrEqual(midnight + 1_000))
  })

  test('is not written with an earlier block of a chain than the stored one', async () => {
    await apply(database, start)
    const { name, line } = (await database.prisma.feed.findFirst()) ?? { name: '', line: 0n }
    for (const timestamp of [midnight + 50, midnight + 20]) {
      const reach = { readUntil: timestamp, block: { number: 7, hash: '0x07', timestamp } }
      await saveReadUntil(database, name, Number(line), reach)
    }
    expect(Number((await database.prisma.feed.findFirst())?.readUntil)).toBe(midnight + 50)
  })

  test('is not written while it ends within a line', async () => {
    await appendFile(feed, lineOf(first).trimEnd())
    const { stop } = await follow({ nowSeconds: () => midnight + 1_000 })
    await eventually(async () => expect(await stored()).toEqual([3, null, midnight + 10, null]))
    // Several checks at its end.
    await wait(1_000)
    expect(await stored()).toEqual([3, null, midnight + 10, null])
    await stop()
  })

  test('is not written without a clock, nor where the stored position is another', async () => {
    const { stop } = await follow()
    await eventually(async () => expect(await stored()).toEqual([3, null, midnight + 10, null]))
    await stop()
    await database.prisma.feed.update({ where: { name: feed }, data: { line: 2n } })
    const source = { ...(await fileSource(feed)), start: { line: 3, byte: 0 }, chunks: nothing() }
    let atEnd: Parameters<NonNullable<ByteSource['onEnd']>>[0] = () => Promise.resolve()
    const withEnd: ByteSource = { ...source, onEnd: (listener) => void (atEnd = listener) }
    const running = ingest({ database, source: withEnd, nowSeconds: () => midnight })
    await atEnd({ lookedAtMilliseconds: performance.now() })
    await running
    expect(await stored()).toEqual([2, null, midnight + 10, null])
    await database.prisma.feed.update({ where: { name: feed }, data: { line: 3n } })
    const again = ingest({ database, source: { ...withEnd, chunks: nothing() }, nowSeconds: () => midnight })
    const block = { number: 7, hash: '0x07', timestamp: midnight - 5 }
    await atEnd({ lookedAtMilliseconds: performance.now(), block })
    await again
    expect(await stored()).toEqual([3, midnight - 5, midnight + 10, 7])
  })

  test('contains the newest fact of the feed, also a skipped one', async () => {
    await apply(database, [...start, ...marks])
    await follow()
    await eventually(async () => expect(await stored()).toEqual([3, null, midnight + 10, null]))
    await appendFile(feed, lineOf(second) + lineOf(first))
    await eventually(async () => expect(await stored()).toEqual([5, null, midnight + 21, null]))
  })
})

async function* nothing(): AsyncGenerator<Buffer> {
  await Promise.resolve()
  yield* []
}
