import { appendFile, cp, mkdir, mkdtemp, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createLog } from '../../../src/cli/log.ts'
import { createReadiness } from '../../../src/cli/readiness.ts'
import { followFeeds } from '../../../src/cli/commands/serve.ts'
import { monitorFeeds } from '../../../src/cli/feed-conditions.ts'
import { readConfig } from '../../../src/config.ts'
import { readFeedPosition } from '../../../src/database/write/feed.ts'
import { lineDigest } from '../../../src/feed/fact/digest.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { followedSource } from '../../../src/feed/reading/followed-source.ts'
import type { PathWatcher } from '../../../src/feed/reading/growing-file.ts'
import { type ByteSource, fileSource } from '../../../src/feed/reading/source.ts'
import { ingest } from '../../../src/feed/ingest.ts'
import { empty, emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { feedText } from '../../support/feeds.ts'
import { timePasses } from '../../support/time-passes.ts'
import { deposit, feedOf, mark, midnight, opened, strategy, vaultA } from '../../support/world.ts'

const start: FactInput[] = [strategy('one'), opened(vaultA, 'one'), deposit(vaultA, midnight + 10, '100')]
const marks = [101, 102, 103, 104].map((valueUsd, index) => mark(vaultA, midnight + 20 + index, `${valueUsd}`))
const [first, second, third, fourth] = marks as [FactInput, FactInput, FactInput, FactInput]
const lineOf = (fact: FactInput): string => feedText([fact])
const nothing = (): void => undefined
const unwatched: PathWatcher = {
  onMissing: nothing,
  onFound: nothing,
  onOtherFile: nothing,
  onRotated: nothing,
  onLateLines: nothing,
  onLeft: nothing,
  onGzipEnd: nothing,
  onChangedInPlace: nothing,
}
const noRejects = { file: '', write: () => Promise.resolve() }

let folder: string
let feed: string
let old: string
let database: TestDatabase
let feeds = 0
let running: Following[] = []

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'rotation-'))
})
beforeEach(async () => {
  database = await emptyDatabase()
  feed = path.join(folder, `${feeds++}.ndjson`)
  old = `${feed}.1`
  await writeFile(feed, feedText(start))
})
afterEach(async () => {
  await Promise.all(running.map((following) => following.stop()))
  running = []
})
afterAll(() => rm(folder, { recursive: true }))

/** A feed that a gateway follows, with its log messages. */
interface Following {
  text(): string
  reason(): Promise<string | null>
  stop(): Promise<void>
}

function follow(): Following {
  const stopping = new AbortController()
  let text = ''
  const log = createLog({ level: 'info', secrets: [], output: { write: (line) => (text += line) } })
  const monitor = monitorFeeds()
  const readiness = createReadiness(database, { conditions: monitor.conditions })
  const command = {
    config: readConfig({}),
    database,
    feed,
    chain: null,
    skipBad: false,
    input: Readable.from([]),
    log,
    print: () => undefined,
    nowSeconds: () => midnight + 1_000,
  }
  const { feedEnded } = followFeeds(command, monitor, stopping.signal)
  const following = {
    text: () => text,
    reason: () => readiness.reason(),
    stop: () => {
      stopping.abort()
      return feedEnded
    },
  }
  running.push(following)
  return following
}

function eventually(check: () => Promise<void> | void): Promise<void> {
  return vi.waitFor(check, { timeout: 30_000, interval: 20 })
}

const becomes = (expected: string): Promise<void> =>
  eventually(async () => {
    const vault = await database.prisma.vault.findFirst()
    expect(vault?.valueUsd.toFixed(0)).toBe(expected)
  })
const untilReplaced = ({ text }: Following, times = 1): Promise<void> =>
  eventually(() => expect(text().match(/is another file now/g)).toHaveLength(times))
const position = () => readFeedPosition(database.prisma, feed)
const endOf = (facts: readonly FactInput[]) => ({ line: facts.length, byte: feedText(facts).length })

describe('a feed that is followed continues', () => {
  test('with the new file where it was renamed, after all lines of the old one', async () => {
    const following = follow()
    await becomes('100')
    await rename(feed, old)
    await appendFile(old, lineOf(first))
    await writeFile(feed, '')
    await appendFile(old, lineOf(second))
    await becomes('102')
    await appendFile(feed, lineOf(third))
    await becomes('103')
    expect(await position()).toMatchObject(endOf([third]))
    expect(following.text()).toContain(`"msg":"${feed} is another file now, which is read on"`)
    await appendFile(feed, lineOf(fourth))
    await becomes('104')
    expect(await position()).toMatchObject(endOf([third, fourth]))
    expect(await following.reason()).toBeNull()
  })

  test('with each file of several rotations', async () => {
    const following = follow()
    for (const [index, fact] of marks.entries()) {
      await becomes(String(100 + index))
      await rename(feed, `${feed}.${index}`)
      await writeFile(feed, lineOf(fact))
    }
    await becomes('104')
    await untilReplaced(following, 4)
  })

  test('with both files of two rotations between two checks', async () => {
    const following = follow()
    await becomes('100')
    await rename(feed, old)
    await writeFile(feed, lineOf(first))
    // The new one has been opened when the old one is done with.
    await timePasses(500)
    await rename(feed, `${feed}.2`)
    await writeFile(feed, lineOf(second))
    await becomes('102')
    await untilReplaced(following, 2)
    expect(await database.prisma.equityPoint.count()).toBe(3)
  })

  test('with the files of three rotations between two checks, in their order', async () => {
    const following = follow()
    await becomes('100')
    await rename(feed, old)
    await writeFile(feed, lineOf(first))
    // The new one has been opened when the old one is done with.
    await timePasses(500)
    for (const [at, fact] of [second, third].entries()) {
      await rename(feed, `${feed}.${at + 2}`)
      await writeFile(feed, lineOf(fact))
    }
    await becomes('103')
    expect(await database.prisma.equityPoint.count()).toBe(4)
    expect(await following.reason()).toBeNull()
  })

  test('with a file that was missed between two checks, though the one before it is compressed meanwhile', async () => {
    const following = follow()
    await becomes('100')
    await writeFile(`${feed}.2.gz`, gzipSync(feedText(start)))
    // Compression preserves the modification time of the file.
    await utimes(`${feed}.2.gz`, new Date(), new Date(Date.now() - 10_000))
    await writeFile(old, lineOf(first))
    await writeFile(`${feed}.new`, lineOf(second))
    await rename(`${feed}.new`, feed)
    await becomes('102')
    expect(await database.prisma.equityPoint.count()).toBe(3)
    expect(await following.reason()).toBeNull()
  })

  test.each<[string, FactInput[]]>([
    ['as long', [...start.slice(0, 2), deposit(vaultA, midnight + 10, '100')]],
    ['longer, and has what was applied', [...start, first]],
    ['longer, and begins with other facts', [strategy('another'), strategy('third'), ...start, first]],
    ['shorter', [first]],
  ])('where it was replaced by one that is %s', async (_what, facts) => {
    const following = follow()
    await becomes('100')
    await writeFile(`${feed}.new`, feedText(facts))
    await rename(`${feed}.new`, feed)
    await untilReplaced(following)
    await appendFile(feed, lineOf(second))
    await becomes('102')
    expect(await position()).toMatchObject(endOf([...facts, second]))
  })

  test('where it was removed and created again', async () => {
    const following = follow()
    await becomes('100')
    await rm(feed)
    await writeFile(feed, feedText([...start, first]))
    await becomes('101')
    await untilReplaced(following)
  })

  test('where it is a symbolic link whose target is replaced', async () => {
    const link = feed
    await cp(feed, old)
    await rm(feed)
    await symlink(old, link)
    follow()
    await becomes('100')
    await writeFile(`${feed}.2`, lineOf(first))
    await symlink(`${feed}.2`, `${feed}.link`)
    await rename(`${feed}.link`, link)
    await becomes('101')
  })

  test('and applies a last line without newline before the new file', async () => {
    const following = follow()
    await becomes('100')
    await appendFile(feed, lineOf(first).trimEnd())
    await rename(feed, old)
    await writeFile(feed, lineOf(second))
    await becomes('102')
    expect(await database.prisma.equityPoint.count()).toBe(3)
    expect(await following.reason()).toBeNull()
  })

  test('after the end of a gzipped file that replaced it', async () => {
    const following = follow()
    await becomes('100')
    await rename(feed, old)
    await writeFile(feed, gzipSync(lineOf(first)))
    await becomes('101')
    await eventually(() => expect(following.text()).toContain('is read to its end. A file that takes its place'))
    await rename(feed, `${feed}.2`)
    await writeFile(feed, lineOf(second))
    await becomes('102')
  })

  test('when its missing file appears again, and is reported as waiting meanwhile', async () => {
    const following = follow()
    await becomes('100')
    await rename(feed, old)
    await eventually(async () =>
      expect(await following.reason()).toBe('The feed waits for its file, which is missing.'),
    )
    expect(following.text().match(/The feed's file is missing, and is waited for: ENOENT/g)).toHaveLength(1)
    await appendFile(old, lineOf(first))
    await becomes('101')
    await writeFile(feed, lineOf(second))
    await becomes('102')
    expect(await following.reason()).toBeNull()
    expect(following.text()).toContain("The feed's file is there again")
  })

  test('when its missing file appears again after others were read meanwhile', async () => {
    const following = follow()
    await becomes('100')
    await rename(feed, old)
    await writeFile(feed, lineOf(first))
    await untilReplaced(following)
    await becomes('101')
    await rename(feed, `${feed}.2`)
    await eventually(async () =>
      expect(await following.reason()).toBe('The feed waits for its file, which is missing.'),
    )
    await appendFile(old, lineOf(strategy('late')))
    // From the newest file back to the one before it, and to the newest again.
    await untilReplaced(following, 2)
    expect(following.text()).toContain('was written to after the file that took its place')
    expect(await following.reason()).not.toBeNull()
    await writeFile(feed, lineOf(second))
    await becomes('102')
    expect(await following.reason()).toBeNull()
    expect(following.text().match(/The feed's file is (?:missing|there again)/g)).toEqual([
      "The feed's file is missing",
      "The feed's file is there again",
    ])
  })
})

describe('a feed that is followed stops with the reason', () => {
  const stopsWith = async (following: Following, reason: RegExp): Promise<void> => {
    await eventually(() => expect(following.text()).toMatch(reason))
    expect(await following.reason()).toMatch(/^The feed is stopped/)
  }

  test('at an incomplete line at the end of the old file', async () => {
    const following = follow()
    await becomes('100')
    await appendFile(feed, lineOf(first).slice(0, 40))
    await rename(feed, old)
    await writeFile(feed, lineOf(second))
    await stopsWith(following, /The feed is stopped: \S+, line 4: the line is not JSON/)
    await becomes('100')
  })

  test('at a fact from the future', async () => {
    const following = follow()
    await becomes('100')
    await appendFile(feed, lineOf(mark(vaultA, midnight + 1_000 + 86_401, '1')))
    await stopsWith(following, /line 4: ts is \d+, more than a day \(86400 s\) ahead of this machine's clock/)
  })

  test('where it is truncated, and starts from the beginning after a restart', async () => {
    const following = follow()
    await becomes('100')
    await truncate(feed, 0)
    await stopsWith(following, /has become shorter than what was read.*npm run ingest.*not copytruncate/)
    await following.stop()
    await writeFile(feed, feedText([...start, first]))
    follow()
    await becomes('101')
  })

  test.each<[string, FactInput[]]>([
    ['as much', [strategy('two'), opened(vaultA, 'two'), deposit(vaultA, midnight + 11, '100')]],
    ['more', [strategy('two'), opened(vaultA, 'two'), deposit(vaultA, midnight + 11, '100'), first]],
  ])('where it is rewritten in place with %s', async (_what, facts) => {
    const following = follow()
    await becomes('100')
    // In one write, so that it is not shorter at any check.
    await writeFile(feed, feedText(facts), { flag: 'r+' })
    await stopsWith(following, /was rewritten in place/)
  })

  test.each<[string, RegExp, () => Promise<unknown>]>([
    ['truncated', /has become shorter/, () => truncate(feed, 0)],
    ['rewritten', /was rewritten in place/, () => writeFile(feed, feedText(start).toUpperCase(), { flag: 'r+' })],
  ])('where it is %s while its end is noted', async (_how, reason, change) => {
    const stopping = new AbortController()
    const watcher = { ...unwatched, onChangedInPlace: () => stopping.abort() }
    const source = await followedSource(feed, null, stopping.signal, watcher)
    let ends = 0
    const onEnd: ByteSource['onEnd'] = (listener) =>
      source.onEnd?.(async (end) => {
        await listener(end)
        // Its change time was read after the first end.
        if (++ends === 2) await change()
      })
    const { signal } = stopping
    const running = ingest({ database, source: { ...source, onEnd }, signal, nowSeconds: () => midnight + 1_000 })
    await expect(running).rejects.toThrow(reason)
  })

  test('where a folder replaces it', async () => {
    const following = follow()
    await becomes('100')
    await rename(feed, old)
    await mkdir(feed)
    await stopsWith(following, /The feed is stopped: \S+ is not a file/)
  })
  const fallBackTo = async (facts: readonly FactInput[]): Promise<void> => {
    // The next comparison with the database, which must not see half of this, is 10 s after the one before this is written.
    await eventually(async () => expect(Number((await database.prisma.feed.findFirst())?.readUntil)).toBeGreaterThan(0))
    await empty(database)
    await ingest({ database, source: { ...feedOf(facts), name: feed } })
  }

  test('where the database falls back into a file that two others have followed, which is missing', async () => {
    const following = follow()
    await becomes('100')
    for (const [at, fact] of [first, second].entries()) {
      await rename(feed, `${feed}.${at}`)
      await writeFile(feed, lineOf(fact))
      await becomes(`${101 + at}`)
    }
    await rm(`${feed}.0`)
    await fallBackTo(start.slice(0, 2))
    await appendFile(feed, lineOf(third))
    await stopsWith(
      following,
      /a file that stood at \S+ before, applied to its line 2, .* oldest first, by npm run ingest/,
    )
    expect(await database.prisma.equityPoint.count()).toBe(0)
  })

  test('but not where that file is still in its folder', async () => {
    const following = follow()
    await becomes('100')
    for (const [at, fact] of [first, second].entries()) {
      await rename(feed, `${feed}.${at}`)
      await writeFile(feed, lineOf(fact))
      await becomes(`${101 + at}`)
    }
    await fallBackTo(start.slice(0, 2))
    await appendFile(feed, lineOf(third))
    await becomes('103')
    expect(await database.prisma.equityPoint.count()).toBe(4)
    expect(await following.reason()).toBeNull()
  })

  test.each(['still beside it', 'removed'])(
    'but not where the new file begins like that file, which is %s',
    async (which) => {
      const following = follow()
      await becomes('100')
      await appendFile(feed, lineOf(first))
      await becomes('101')
      await rename(feed, old)
      await writeFile(feed, feedText([...start, second]))
      await becomes('102')
      if (which === 'removed') await rm(old)
      await fallBackTo(start)
      await appendFile(feed, lineOf(third))
      await becomes('103')
      expect(await database.prisma.equityPoint.count()).toBe(4)
      expect(await following.reason()).toBeNull()
    },
  )

  test('but not where the database falls back to where the gateway started', async () => {
    await ingest({ database, source: await fileSource(feed) })
    await rename(feed, old)
    await writeFile(feed, lineOf(first))
    const following = follow()
    await becomes('101')
    await fallBackTo(start)
    await appendFile(feed, lineOf(second))
    await becomes('102')
    expect(await database.prisma.equityPoint.count()).toBe(3)
    expect(await following.reason()).toBeNull()
  })
})

describe('a feed that was rotated or changed while no gateway followed it', () => {
  /** Applies the present lines, like a gateway that has ended. */
  const applyAll = async (): Promise<void> => {
    await ingest({ database, source: await fileSource(feed) })
  }
  const points = () => database.prisma.equityPoint.count()

  test.each([
    ['renamed', (file: string) => `${file}.1`, (text: string) => text],
    ['gzipped', (file: string) => `${file}.1.gz`, (text: string) => gzipSync(text)],
    ['renamed with its date', (file: string) => `${file}-20260131`, (text: string) => text],
    [
      'renamed, with the date before its extension',
      (file: string) => file.replace('.ndjson', '-20260131.ndjson'),
      String,
    ],
    ['renamed by hand', (file: string) => `${file}.old`, (text: string) => text],
  ])('goes on in the old file, %s', async (_way, named, packed) => {
    await applyAll()
    await rm(feed)
    await writeFile(named(feed), packed(feedText([...start, first])))
    await writeFile(feed, lineOf(second))
    const following = follow()
    await becomes('102')
    expect(await points()).toBe(3)
    expect(following.text()).toContain(`What is not applied of ${named(feed)} is read first`)
    expect(following.text()).not.toContain('does not hold what was applied')
    await appendFile(feed, lineOf(third))
    await becomes('103')
    expect(await position()).toMatchObject(endOf([second, third]))
  })

  test('continues in each file of several rotations', async () => {
    await applyAll()
    await appendFile(feed, lineOf(first))
    await rename(feed, `${feed}.3`)
    await writeFile(`${feed}.2`, lineOf(second))
    await writeFile(`${feed}.1.gz`, gzipSync(lineOf(third)))
    await writeFile(`${feed}.rejects.ndjson`, '{}')
    await writeFile(feed, lineOf(fourth))
    await writeFile(`${feed}.bak`, '{}')
    follow()
    await becomes('104')
    expect(await points()).toBe(5)
    expect(await position()).toMatchObject(endOf([fourth]))
  })

  test.each([
    ['renamed', (file: string) => `${file}.1`, String],
    ['gzipped', (file: string) => `${file}.1.gz`, (text: string) => gzipSync(text)],
  ])('goes on in the old file, %s, where the new one begins like it', async (_way, named, packed) => {
    await applyAll()
    await rm(feed)
    await writeFile(named(feed), packed(feedText([...start, first, second])))
    await writeFile(feed, feedText([...start, third]))
    const following = follow()
    await becomes('103')
    expect(await points()).toBe(4)
    await following.stop()
    await appendFile(feed, lineOf(fourth))
    follow()
    await becomes('104')
    expect(await points()).toBe(5)
  })

  test('continues in the oldest of several files with the same beginning', async () => {
    await applyAll()
    await rename(feed, `${feed}.3`)
    await appendFile(`${feed}.3`, lineOf(first))
    await writeFile(`${feed}.2`, feedText([...start, second]))
    await writeFile(`${feed}.1`, lineOf(third))
    await writeFile(feed, feedText([...start, fourth]))
    follow()
    await becomes('104')
    expect(await points()).toBe(5)
  })

  test('continues in the old file where there is no new one yet', async () => {
    await applyAll()
    await appendFile(feed, lineOf(first))
    await rename(feed, old)
    follow()
    await becomes('101')
    await writeFile(feed, lineOf(second))
    await becomes('102')
  })

  test('is read from its beginning where the new file has an equal line at the same offset', async () => {
    await applyAll()
    await rm(feed)
    const [published, ...others] = start as [FactInput, ...FactInput[]]
    const tagline = 'x'.repeat((published as { tagline: string }).tagline.length)
    const replaced = [{ ...published, ts: published.ts + 1, tagline } as FactInput, ...others]
    expect(feedText(replaced)).toHaveLength(feedText(start).length)
    await writeFile(feed, feedText(replaced))
    const following = follow()
    await eventually(async () => expect(await database.prisma.strategy.findFirst()).toMatchObject({ tagline }))
    expect(following.text()).toContain('does not hold what was applied to its line 3')
  })

  test('is read from its beginning where it was changed in place, once', async () => {
    const mended = lineOf(first)
    const bad = mended.replace('"mark"', '"Mark"')
    await writeFile(feed, feedText(start) + bad)
    const { rejected } = await ingest({ database, source: await fileSource(feed), rejects: noRejects })
    expect(rejected).toEqual({ unreadable: 1 })
    await writeFile(feed, feedText(start) + mended, { flag: 'r+' })
    const following = follow()
    await becomes('101')
    expect(following.text()).toContain('does not hold what was applied to its line 4')
    await following.stop()
    const again = follow()
    await appendFile(feed, lineOf(second))
    await becomes('102')
    expect(again.text()).toBe('')
  })

  test('continues at a position of an older version, which has a digest of the last line', async () => {
    await applyAll()
    const last = feedText(start).trimEnd().split('\n').at(-1) ?? ''
    await database.prisma.feed.updateMany({ data: { fingerprint: lineDigest(Buffer.from(last)) } })
    await appendFile(feed, lineOf(first))
    const following = follow()
    await becomes('101')
    expect(following.text()).toBe('')
    expect((await position())?.fingerprint).toMatch(/^[\w-]{22}\.[\w-]{22}$/)
  })
})

test.each(['', lineOf(first).slice(0, 20)])(
  'a followed file that is mended in place, before what was read last and "%s" of a further line, is read again and this is said',
  async (half) => {
    const filler = Array.from({ length: 20 }, (_, at) => strategy(`filler-${at}`))
    const bad = lineOf(first).replace('"mark"', '"Mark"')
    const text = feedText(start) + bad + feedText(filler) + half
    await writeFile(feed, text)
    const stopping = new AbortController()
    const notices: string[] = []
    const watcher = { ...unwatched, onChangedInPlace: () => void notices.push('changed') }
    const source = await followedSource(feed, null, stopping.signal, watcher)
    let files = 1
    const onNextFile = (): void => void files++
    const running = ingest({ database, source, rejects: noRejects, signal: stopping.signal, onNextFile })
    await becomes('100')
    // Its change time is compared between checks.
    await timePasses(500)
    await writeFile(feed, feedText(start) + lineOf(first) + feedText(filler), { flag: 'r+' })
    await becomes('101')
    stopping.abort()
    expect((await running).skipped).toEqual({ strategy: 21, vault: 1, event: 1 })
    expect([notices, files]).toEqual([['changed'], 1])
  },
)
