import { appendFileSync } from 'node:fs'
import {
  appendFile,
  chmod,
  link,
  mkdtemp,
  open,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { pathWatcher, monitorFeeds } from '../../../src/cli/feed-conditions.ts'
import { createLog } from '../../../src/cli/log.ts'
import { readUntilOfFeed, readFeedPosition } from '../../../src/database/write/feed.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { ingest } from '../../../src/feed/ingest.ts'
import { type Rejects, rejectsFile } from '../../../src/feed/rejects/rejects.ts'
import { followedSource } from '../../../src/feed/reading/followed-source.ts'
import { retryPassingFaults } from '../../../src/feed/reading/open-file.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { feedText } from '../../support/feeds.ts'
import { deposit, mark, midnight, opened, strategy, vaultA, vaultB } from '../../support/world.ts'

const start: FactInput[] = [
  ...[strategy('one'), opened(vaultA, 'one'), opened(vaultB, 'one')],
  ...[deposit(vaultA, midnight + 10, '100'), deposit(vaultB, midnight + 10, '100')],
]
const marks = [101, 102, 103, 104].map((valueUsd, index) => mark(vaultA, midnight + 20 + index, `${valueUsd}`))
const [first, second, third, fourth] = marks as [FactInput, FactInput, FactInput, FactInput]
const lineOf = (fact: FactInput): string => feedText([fact])

let folder: string
let feed: string
let database: TestDatabase
let running: (() => Promise<void>)[] = []
let said = ''

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'unseen-'))
})
beforeEach(async () => {
  database = await emptyDatabase()
  feed = path.join(await mkdtemp(path.join(folder, 'feed-')), 'feed.ndjson')
  said = ''
})
afterEach(async () => {
  await Promise.all(running.map((stop) => stop()))
  running = []
})
afterAll(() => rm(folder, { recursive: true }))

/** Follows the feed until the test ends, or the returned function is called. */
async function follow(nowSeconds?: () => number, rejects?: Rejects): Promise<() => Promise<void>> {
  const stopping = new AbortController()
  const log = createLog({ level: 'info', secrets: [], output: { write: (line) => (said += line) } })
  const watcher = pathWatcher(feed, log, monitorFeeds())
  const stored = await readFeedPosition(database.prisma, feed)
  const readUntil = await readUntilOfFeed(database.prisma, feed, clock)
  const source = await followedSource(feed, stored, stopping.signal, watcher, readUntil)
  const ended = ingest({
    database,
    source,
    signal: stopping.signal,
    ...(nowSeconds && { nowSeconds }),
    ...(rejects && { rejects }),
  }).then(
    () => undefined,
    (error: unknown) => void (said += `stopped: ${(error as Error).message}`),
  )
  const stop = (): Promise<void> => {
    stopping.abort()
    return ended
  }
  running.push(stop)
  return stop
}

const eventually = (check: () => Promise<void> | void): Promise<void> =>
  vi.waitFor(check, { timeout: 20_000, interval: 20 })
const becomes = (expected: string): Promise<void> =>
  eventually(async () => {
    const vault = await database.prisma.vault.findFirst({ where: { address: { equals: vaultA, mode: 'insensitive' } } })
    expect(vault?.valueUsd.toFixed(0), said).toBe(expected)
  })
const clock = () => Date.now() / 1_000
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const points = () => database.prisma.equityPoint.count()
/** Moves a file to the path atomically. */
const replaceBy = async (text: string): Promise<void> => {
  await writeFile(`${feed}.new`, text)
  await rename(`${feed}.new`, feed)
}

describe('a file that was at the path only between two checks is read', () => {
  beforeEach(() => writeFile(feed, feedText(start)))

  test('while the file at the path is still empty', async () => {
    await follow()
    await becomes('100')
    await link(feed, `${feed}.2`)
    await writeFile(`${feed}.1`, lineOf(first))
    await replaceBy('')
    await becomes('101')
    expect(said).toContain(`What is not applied of ${feed}.1 is read first`)
    await appendFile(feed, lineOf(second))
    await becomes('102')
    expect(await points()).toBe(4)
  })

  test.each([
    ['', String],
    [', and is gzipped', (text: string) => gzipSync(text)],
  ])('where it begins with all that the file before it has%s', async (gzipped, packed) => {
    await follow()
    await becomes('100')
    await link(feed, `${feed}.2`)
    await writeFile(`${feed}.1${gzipped === '' ? '' : '.gz'}`, packed(feedText([...start, first])))
    await replaceBy(lineOf(second))
    await becomes('102')
    expect(await points()).toBe(4)
  })

  test('where the file before it was removed by the same rotation', async () => {
    await follow()
    await becomes('100')
    await writeFile(`${feed}.1`, lineOf(first))
    await replaceBy(lineOf(second))
    await becomes('102')
    expect(await points()).toBe(4)
  })

  test.each([1_000, 2_300, 4_000])(
    'where the last line of the file before it is extended, and is whole after %i ms',
    async (milliseconds) => {
      await follow()
      await becomes('100')
      await link(feed, `${feed}.2`)
      await writeFile(`${feed}.1`, lineOf(first))
      const line = lineOf(mark(vaultB, midnight + 20, '5'))
      const pieces = milliseconds / 50
      const cut = (piece: number): number => Math.ceil((piece * line.length) / pieces)
      await appendFile(`${feed}.2`, line.slice(0, cut(1)))
      await replaceBy(lineOf(second))
      for (let piece = 1; piece < pieces; piece++) {
        await pause(50)
        await appendFile(`${feed}.2`, line.slice(cut(piece), cut(piece + 1)))
      }
      await becomes('102')
      expect(await points()).toBe(5)
    },
    60_000,
  )

  test('where lines are written to the file before it meanwhile', async () => {
    await follow()
    await becomes('100')
    await link(feed, `${feed}.2`)
    await writeFile(`${feed}.1`, lineOf(first))
    await replaceBy('')
    await appendFile(`${feed}.2`, lineOf(mark(vaultB, midnight + 20, '5')))
    await becomes('101')
    expect(await points()).toBe(4)
  })
})

/** Follows a feed whose first file, now with the suffix `.1`, was replaced by one with a first line. */
async function followReplaced(): Promise<void> {
  await writeFile(feed, feedText(start))
  await follow()
  await becomes('100')
  await link(feed, `${feed}.1`)
  await replaceBy(lineOf(first))
  await becomes('101')
}

describe('lines that are added to a file after the next one was begun are applied', () => {
  test.each([
    ['in one piece', (text: string) => [text]],
    ['in two halves', (text: string) => [text.slice(0, 40), text.slice(40)]],
  ])('%s', async (_how, pieces) => {
    await followReplaced()
    for (const piece of pieces(lineOf(mark(vaultB, midnight + 20, '5')))) {
      await appendFile(`${feed}.1`, piece)
      await pause(500)
    }
    await eventually(async () => expect(await points(), said).toBe(4))
    expect(said).toContain('was written to after the file that took its place')
    await appendFile(feed, lineOf(second))
    await becomes('102')
    expect(said).not.toContain('stopped')
  })
})

test('lines are late after a file that had some before was compressed', async () => {
  await followReplaced()
  await appendFile(`${feed}.1`, lineOf(mark(vaultB, midnight + 20, '5')))
  await eventually(async () => expect(await points(), said).toBe(4))
  const { atime, mtime } = await stat(`${feed}.1`)
  await writeFile(`${feed}.2.gz`, gzipSync(await readFile(`${feed}.1`)))
  await utimes(`${feed}.2.gz`, atime, mtime)
  await rename(feed, `${feed}.1`)
  await writeFile(feed, lineOf(second))
  await becomes('102')
  await appendFile(`${feed}.1`, lineOf(mark(vaultB, midnight + 21, '6')))
  await appendFile(feed, lineOf(third))
  await becomes('103')
  await pause(500)
  await rename(`${feed}.1`, `${feed}.3`)
  // Before a file is left, the late lines of the one before it are read.
  await rename(feed, `${feed}.1`)
  await writeFile(feed, lineOf(fourth))
  await becomes('104')
  expect(await points(), said).toBe(8)
})

test('lines are late while the newer file ends within a line, which is read when it is complete', async () => {
  await followReplaced()
  const next = lineOf(second)
  await appendFile(feed, next.slice(0, 40))
  await pause(500)
  await appendFile(`${feed}.1`, lineOf(mark(vaultB, midnight + 20, '5')))
  await pause(1_500)
  expect([await points(), said]).toEqual([3, expect.not.stringContaining('stopped')])
  await appendFile(feed, next.slice(40))
  await becomes('102')
  await eventually(async () => expect(await points(), said).toBe(5))
  expect(said).not.toContain('stopped')
})

test('late lines that are repeated interrupt the newer file for a part of the time only, and until the older file is left', async () => {
  await followReplaced()
  const detours = () => [...said.matchAll(/was written to after/g)].length
  for (let at = 0; at < 8; at++) {
    await appendFile(`${feed}.1`, lineOf(mark(vaultB, midnight + 20 + at, '5')))
    await pause(1_000)
  }
  await eventually(async () => expect(await points(), said).toBeGreaterThan(3))
  expect(detours()).toBe(1)
  await link(feed, `${feed}.2`)
  await replaceBy(lineOf(second))
  await becomes('102')
  expect([detours(), await points()]).toEqual([2, 12])
}, 60_000)

describe('lines that are added to the file before are applied after a restart of the gateway', () => {
  const late = () => appendFile(`${feed}.1`, lineOf(mark(vaultB, midnight + 20, '5')))

  beforeEach(async () => {
    await writeFile(feed, feedText(start))
    const stop = await follow(clock)
    await becomes('100')
    await link(feed, `${feed}.1`)
    await replaceBy(lineOf(first))
    await becomes('101')
    await stop()
  })

  test('where they were added while no gateway ran', async () => {
    await late()
    await follow(clock)
    await eventually(async () => expect(await points(), said).toBe(4))
    await appendFile(feed, lineOf(second))
    await becomes('102')
    expect(said).not.toContain('stopped')
  })

  test('where the recorded end is ahead of the clock, which was or is wrong', async () => {
    const readUntil = Math.floor(clock()) + 1_000_000
    await database.prisma.feed.updateMany({ data: { readUntil } })
    await late()
    await follow(clock)
    await eventually(async () => expect(await points(), said).toBe(4))
    await eventually(async () => {
      const row = await database.prisma.feed.findFirst()
      expect(Number(row?.readUntil)).toBeLessThanOrEqual(clock())
    })
  })

  test('where the file was gzipped meanwhile, once', async () => {
    await late()
    await writeFile(`${feed}.1.gz`, gzipSync(await readFile(`${feed}.1`)))
    await rm(`${feed}.1`)
    await follow(clock)
    await eventually(async () => expect(await points(), said).toBe(4))
    await appendFile(feed, lineOf(second))
    await becomes('102')
    await pause(1_500)
    expect(said.match(/was written to after/g)).toHaveLength(1)
    expect(said).not.toContain('stopped')
  })

  test('where an older file, which has such lines too, was read in between', async () => {
    await late()
    await appendFile(feed, lineOf(second))
    await rename(`${feed}.1`, `${feed}.2`)
    await rename(feed, `${feed}.1`)
    await writeFile(feed, lineOf(third))
    await follow(clock)
    await becomes('103')
    expect(await points()).toBe(6)
    await appendFile(`${feed}.1`, lineOf(mark(vaultB, midnight + 21, '6')))
    await eventually(async () => expect(await points(), said).toBe(7))
    expect(said).not.toContain('stopped')
  })

  test('where they waited to be read when the gateway was stopped', async () => {
    const stop = await follow(clock)
    await late()
    await eventually(async () => expect(await points(), said).toBe(4))
    // Longer than the older file is read on after its last byte.
    await pause(2_500)
    await appendFile(`${feed}.1`, lineOf(mark(vaultB, midnight + 21, '6')))
    // The feed's end is recorded every 10 s, but not while lines wait.
    await pause(11_000)
    expect(await points()).toBe(4)
    expect(await readUntilOfFeed(database.prisma, feed, clock)).toBeLessThan(clock() - 10)
    await stop()
    await follow(clock)
    await eventually(async () => expect(await points(), said).toBe(5))
  })

  test('where they are added while it runs', async () => {
    await utimes(`${feed}.1`, new Date(), new Date(Date.now() - 60_000))
    await follow(clock)
    await pause(1_000)
    expect(said).not.toContain('was written to after')
    await late()
    await eventually(async () => expect(await points(), said).toBe(4))
    await appendFile(feed, lineOf(second))
    await becomes('102')
    expect(said).not.toContain('stopped')
  })
})

test('lines that are added to the file before are applied after a restart where no run has reached the end', async () => {
  await writeFile(feed, feedText(start))
  // Without a clock, no end is recorded.
  const stop = await follow()
  await becomes('100')
  await link(feed, `${feed}.1`)
  await replaceBy(lineOf(first))
  await becomes('101')
  await stop()
  await appendFile(`${feed}.1`, lineOf(mark(vaultB, midnight + 20, '5')))
  expect(await readUntilOfFeed(database.prisma, feed, clock)).toBe(0)
  await follow(clock)
  await eventually(async () => expect(await points(), said).toBe(4))
  await appendFile(feed, lineOf(second))
  await becomes('102')
  expect(said).not.toContain('stopped')
})

test.each([
  ['is set aside', () => follow(clock, rejectsFile(`${feed}.rejects.ndjson`))],
  [
    'is removed from its file',
    async () => {
      await writeFile(`${feed}.1.new`, feedText([...start, mark(vaultB, midnight + 20, '5')]))
      await rename(`${feed}.1.new`, `${feed}.1`)
      await follow(clock)
    },
  ],
])(
  'a late line of a vault with newer facts stops the feed, which has all others when that %s',
  async (_how, remedy) => {
    await writeFile(feed, feedText(start))
    const stop = await follow(clock)
    await becomes('100')
    await link(feed, `${feed}.1`)
    await replaceBy(lineOf(first))
    await becomes('101')
    await appendFile(`${feed}.1`, feedText([mark(vaultA, midnight + 15, '90'), mark(vaultB, midnight + 20, '5')]))
    const stopped = /stopped: \S+feed\.ndjson\.1, line 6: ts is \d+/
    await eventually(() => expect(said).toMatch(stopped))
    await stop()
    await appendFile(feed, lineOf(second))
    said = ''
    await (
      await follow(clock)
    )()
    await remedy()
    await becomes('102')
    await eventually(async () => expect(await points(), said).toBe(5))
  },
)

test('a file that is written to continuously does not delay later ones, and the log names it', async () => {
  await followReplaced()
  let late = midnight + 20
  const writing = setInterval(() => void appendFile(`${feed}.1`, lineOf(mark(vaultB, late++, '5'))), 100)
  try {
    await pause(1_000)
    await link(feed, `${feed}.2`)
    await replaceBy(lineOf(second))
    await becomes('102')
    expect(said).toMatch(/feed\.ndjson\.1 is still written to, though two files have taken its place/)
  } finally {
    clearInterval(writing)
  }
}, 60_000)

test('a file whose last line is extended continuously does not delay later ones, and loses no line', async () => {
  await writeFile(feed, feedText(start))
  await follow()
  await becomes('100')
  await link(feed, `${feed}.1`)
  let [late, rest] = [midnight + 20, '']
  const extend = (): void => {
    const line = lineOf(mark(vaultB, late++, '5'))
    appendFileSync(`${feed}.1`, rest + line.slice(0, 40))
    rest = line.slice(40)
  }
  extend()
  const writing = setInterval(extend, 50)
  try {
    await pause(500)
    await replaceBy(lineOf(first))
    await becomes('101')
  } finally {
    clearInterval(writing)
  }
  await appendFile(`${feed}.1`, rest)
  const where = {
    ts: { gte: midnight + 20 },
    vault: { is: { address: { equals: vaultB, mode: 'insensitive' as const } } },
  }
  await eventually(async () => expect(await database.prisma.equityPoint.count({ where })).toBe(late - midnight - 20))
  expect(said).not.toContain('stopped')
}, 60_000)

test('a file that grows at every read is left for the one that has replaced it', async () => {
  await writeFile(feed, 'line\n')
  const stopping = new AbortController()
  const source = await followedSource(feed, null, stopping.signal)
  await rename(feed, `${feed}.1`)
  await writeFile(feed, 'line of the next one\n')
  const until = performance.now() + 20_000
  for await (const _ of source.chunks) {
    await appendFile(`${feed}.1`, 'line\n')
    if (performance.now() > until) break
  }
  expect(performance.now()).toBeLessThan(until)
  const next = await source.next?.(null)
  for await (const chunk of next && 'chunks' in next ? next.chunks : []) {
    expect(chunk.toString()).toBe('line of the next one\n')
    break
  }
  stopping.abort()
  await next?.close?.()
}, 60_000)

describe('an error of a rotated file names that file', () => {
  const bad = '{"kind":"trade"}\n'

  test.each([
    [
      'read behind it was rotated',
      async () => {
        await writeFile(feed, feedText(start))
        await follow()
        await becomes('100')
        await link(feed, `${feed}.1`)
        await replaceBy('')
        await appendFile(`${feed}.1`, bad)
      },
      /stopped: \S+feed\.ndjson\.1, line 6: kind is "trade"/,
    ],
    [
      'found beside a new one',
      async () => {
        await writeFile(`${feed}.1`, feedText(start) + bad)
        await writeFile(feed, '')
        await follow()
      },
      /stopped: \S+feed\.ndjson\.1, line 6: kind is "trade"/,
    ],
    [
      'that is damaged',
      async () => {
        await writeFile(`${feed}.1.gz`, gzipSync(feedText(start)).subarray(0, -12))
        await writeFile(feed, '')
        await follow()
      },
      /stopped: \S+feed\.ndjson\.1\.gz (?:can't be unpacked|ends)/,
    ],
    [
      'that was removed',
      async () => {
        await writeFile(feed, feedText(start))
        await follow()
        await becomes('100')
        const handle = await open(feed, 'a')
        await rm(feed)
        await pause(500)
        await handle.writeFile(bad)
        await handle.close()
      },
      /stopped: A file that stood at \S+feed\.ndjson before and was removed, line 6/,
    ],
  ])('%s', async (_how, happens, message) => {
    await happens()
    await eventually(() => expect(said).toMatch(message))
  })

  test('that cannot be opened, and may have facts that are not applied', async () => {
    await writeFile(`${feed}.2`, feedText(start))
    // Too many levels of symbolic links, since root may open any other file.
    await symlink(`${feed}.1`, `${feed}.1`)
    await writeFile(feed, lineOf(first))
    await expect(follow()).rejects.toThrow(
      /^\S+feed\.ndjson\.1 can't be opened: ELOOP.*may have facts that are not applied\. Make it readable, or move it to another folder, and start the gateway again$/,
    )
    expect(await points()).toBe(0)
  })
})

describe('a folder that cannot be listed', () => {
  /** Runs work as a user who may open the files of the folder, but not list it. */
  async function withoutList(work: () => Promise<void>): Promise<void> {
    const isRoot = process.getuid?.() === 0
    await chmod(folder, 0o755)
    await chmod(path.dirname(feed), 0o311)
    // Root may list any folder.
    if (isRoot) process.seteuid?.(65_534)
    try {
      await work()
    } finally {
      if (isRoot) process.seteuid?.(0)
      await chmod(path.dirname(feed), 0o755)
    }
  }

  beforeEach(async () => {
    await writeFile(`${feed}.1`, feedText(start))
    await writeFile(feed, lineOf(first))
  })

  test('stops a feed of which nothing was applied, since the folder may have rotated files', async () => {
    await withoutList(() =>
      expect(follow()).rejects.toThrow(
        /feed-\w+ can't be listed: EACCES.*Files in it may have stood at \S+feed\.ndjson before.*Make it readable, and start the gateway again$/,
      ),
    )
    expect(await points()).toBe(0)
  })

  test('stops a feed whose rotated file has lines that were added since it was read to its end', async () => {
    const stop = await follow(clock)
    await becomes('101')
    await eventually(async () => expect(await readUntilOfFeed(database.prisma, feed, clock)).toBeGreaterThan(0))
    await stop()
    await appendFile(`${feed}.1`, lineOf(mark(vaultB, midnight + 20, '5')))
    await withoutList(() => expect(follow(clock)).rejects.toThrow(/can't be listed: EACCES/))
    await follow(clock)
    await eventually(async () => expect(await points(), said).toBe(4))
  })

  test('is listed again where the process had too many open files', async () => {
    const codes = ['EMFILE', 'ENFILE', 'EMFILE']
    const work = vi.fn(() => {
      const code = codes.shift()
      return code === undefined ? Promise.resolve('listed') : Promise.reject(Object.assign(new Error(code), { code }))
    })
    expect(await retryPassingFaults(work)).toBe('listed')
    codes.push(...Array<string>(100).fill('EMFILE'))
    await expect(retryPassingFaults(work)).rejects.toThrow('EMFILE')
    codes.splice(0, codes.length, 'EACCES')
    await expect(retryPassingFaults(work)).rejects.toThrow('EACCES')
  })
})

describe('a feed of which nothing was applied', () => {
  test('is read from the oldest of its rotated files', async () => {
    await writeFile(`${feed}.3.gz`, gzipSync(feedText(start)))
    await writeFile(`${feed}.2`, lineOf(first))
    await writeFile(`${feed}.1`, lineOf(second))
    await writeFile(`${feed}.bak`, '{}')
    await writeFile(`${feed}.old`, '{}')
    // A file of another feed.
    for (const name of [feed.replace('.ndjson', '-2.ndjson'), `${feed}-2`]) await writeFile(name, '{}')
    // A file that is compressed by another program than gzip, and its checksum.
    for (const name of [`${feed}.4.xz`, `${feed}.1.sha256`]) await writeFile(name, 'x')
    await writeFile(feed, lineOf(third))
    const stop = await follow()
    await becomes('103')
    expect(await points()).toBe(5)
    expect(said).toMatch(/What is not applied of \S+\.3\.gz, \S+\.2, \S+\.1 is read first/)
    await stop()
    await appendFile(feed, lineOf(fourth))
    await follow()
    await becomes('104')
  })

  test('continues in its file that was rotated while no gateway ran, where there is no new one yet', async () => {
    await writeFile(feed, '')
    await (
      await follow()
    )()
    await writeFile(feed, feedText(start))
    await rename(feed, `${feed}.1`)
    await follow()
    await becomes('100')
    await writeFile(feed, lineOf(first))
    await becomes('101')
  })
})

describe('where the applied lines are in no file any more', () => {
  test('the remaining rotated files are read before the one at the path, which is logged', async () => {
    await writeFile(feed, feedText(start))
    const stop = await follow()
    await becomes('100')
    await stop()
    await writeFile(`${feed}.1`, lineOf(first))
    await replaceBy(lineOf(second))
    await follow()
    await becomes('102')
    expect(await points()).toBe(4)
    expect(said).toContain('does not hold what was applied to its line 5')
    expect(said).toContain(`What is not applied of ${feed}.1 is read first`)
  })
})

test('a feed without new lines is not late while the file that a rotation has created is empty', async () => {
  await writeFile(feed, feedText(start))
  const stop = await follow()
  await becomes('100')
  await stop()
  await rename(feed, `${feed}.1`)
  await writeFile(feed, '')
  await follow(() => midnight + 1_000)
  await eventually(async () => expect(Number((await database.prisma.feed.findFirst())?.readUntil)).toBeGreaterThan(0))
})
