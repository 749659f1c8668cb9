import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openPostgreSqlWriter } from '../../src/database/postgresql/writer.ts'
import { openPostgreSql } from '../../src/database/postgresql/database.ts'
import { migrate } from '../../src/database/prisma/migrations.ts'
import type { Database } from '../../src/database/database.ts'
import { DatabaseUnavailable } from '../../src/database/errors.ts'
import type { Summary } from '../../src/feed/summary.ts'
import { BadFact } from '../../src/feed/errors.ts'
import { CommitsLost } from '../../src/feed/position/expected-state.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { ingest, type IngestOptions } from '../../src/feed/ingest.ts'
import { listsUntilPause } from '../../src/feed/reading/lists-until-pause.ts'
import { segmentsIn, segmentsOf } from '../../src/feed/jobs/segments.ts'
import { subjectsOf } from '../../src/feed/jobs/subjects.ts'
import { createWriter, type Writer } from '../../src/feed/jobs/writer.ts'
import { chunkBytes } from '../../src/feed/reading/decompress.ts'
import { type Line, readLines } from '../../src/feed/reading/lines.ts'
import { fileSource } from '../../src/feed/reading/source.ts'
import { rejectsFile } from '../../src/feed/rejects/rejects.ts'
import { createOnServer, empty, emptyDatabase, postgresUrl } from '../support/database.ts'
import { deferred } from '../support/deferred.ts'
import { type Dump, dumpReadModel } from '../support/dump.ts'
import { feedText, manyDemoFacts, realFeed } from '../support/feeds.ts'
import { addressOf, deposit, feedOf, mark, midnight, opened, position, strategy, vaultA } from '../support/world.ts'

const demo = manyDemoFacts(4)
const openedBy = (owner: string, vault = ''): FactInput => ({
  kind: 'vault',
  ts: midnight,
  vault,
  owner,
  strategy: 'one',
})

async function linesOf(facts: readonly (FactInput | string)[]): Promise<Line[]> {
  const text = facts.map((fact) => `${typeof fact === 'string' ? fact : JSON.stringify(fact)}\n`).join('')
  const lists = readLines(chunks([Buffer.from(text)]), { line: 0, byte: 0 })
  const lines: Line[] = []
  for await (const list of lists) lines.push(...list)
  return lines
}

async function* chunks<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for (const item of items) yield await Promise.resolve(item)
}

describe('the subjects of a line', () => {
  const a = vaultA.toLowerCase()
  const marked = JSON.stringify(mark(vaultA, midnight, '1'))
  test.each<[string, string, readonly string[] | null]>([
    ['a mark', marked, [a]],
    ['a mark with spaces', marked.replaceAll('":', '" : '), [a]],
    ['an address in capitals', marked.replace(vaultA, vaultA.toUpperCase().replace('0X', '0x')), [a]],
    ['an escaped key', marked.replace('"vault"', '"v\\u0061ult"'), [a]],
    ['a deposit', JSON.stringify(deposit(vaultA, midnight, '1')), [a]],
    [
      'a text that is a key',
      marked.replace('"positions":[]', `"positions":[${JSON.stringify(position('vault'))}]`),
      [a],
    ],
    ['two vaults', marked.replace('{', `{"vault":"${addressOf(7)}",`), []],
    ['a strategy', JSON.stringify(strategy('one')), null],
    ['a line that is no fact', '{', []],
  ])('%s', async (_what, text, subjects) => {
    const [line] = await linesOf([text])
    expect(subjectsOf(line as Line)).toEqual(subjects)
  })

  test('a vault belongs to its owner too', async () => {
    const [line] = await linesOf([opened(vaultA, 'one')])
    expect(subjectsOf(line as Line)).toHaveLength(2)
  })
})

describe('segments', () => {
  const vaults = Array.from({ length: 12 }, (_, at) => addressOf(at + 1))
  const marks = Array.from({ length: 100 }, (_, at) => vaults.map((vault) => mark(vault, midnight + at, '1'))).flat()

  test('contain each line once, each vault in one part, in the order of the feed', async () => {
    const lines = await linesOf(marks)
    const [segment, ...others] = segmentsOf(lines, 4)
    expect(others).toEqual([])
    expect(segment?.parts?.map((part) => part.length)).toEqual([300, 300, 300, 300])
    expect(segment?.parts?.flat().sort((x, y) => x - y)).toEqual(lines.map((_, at) => at))
    const vaultsOf = segment?.parts?.map((part) => new Set(part.map((at) => marks[at]?.['vault' as 'kind'])))
    expect(vaultsOf?.map(({ size }) => size)).toEqual([3, 3, 3, 3])
    for (const part of segment?.parts ?? []) expect(part).toEqual(part.toSorted((x, y) => x - y))
  })

  test('a strategy separates rounds, a screen does not', async () => {
    const screen: FactInput = { kind: 'screen', ts: midnight, assets: [], pairs: [], strategies: {} }
    const lines = await linesOf([...marks, strategy('one'), ...marks.slice(0, 600), screen, ...marks.slice(600)])
    const segments = segmentsOf(lines, 4)
    expect(segments.map((each) => [each.lines.length, each.parts?.length ?? 1])).toEqual([
      [1_200, 4],
      [1, 1],
      [1_201, 4],
    ])
  })

  test('vaults that are opened or get an owner are in one part where one gets another owner', async () => {
    const moved: FactInput = { kind: 'owner', ts: midnight, vault: vaults[0] ?? '', owner: addressOf(901) }
    const other = openedBy(addressOf(902), vaults[1])
    const partsWith = async (facts: readonly FactInput[]) => {
      const [segment] = segmentsOf(await linesOf([...facts, ...marks]), 12)
      return segment?.parts?.map((part) => part.length).sort((a, b) => b - a)
    }
    expect(await partsWith([moved, other])).toEqual([202, ...Array.from({ length: 10 }, () => 100)])
    const another = openedBy(addressOf(903), vaults[2])
    expect(await partsWith([another, other])).toEqual([101, 101, ...Array.from({ length: 10 }, () => 100)])
  })

  test('have parts of any number of lines', async () => {
    const [one, other] = await linesOf([mark(vaultA, midnight, '1'), mark(addressOf(7), midnight, '1')])
    const lines = Array.from({ length: 200_000 }, () => one as Line)
    const [segment] = segmentsOf([...lines, other as Line], 2)
    expect(segment?.parts?.map((part) => part.length)).toEqual([200_000, 1])
  })

  test('of long lines have fewer of them', async () => {
    const [line] = await linesOf([`{${' '.repeat(10_000)}`])
    const lists = Array.from({ length: 20 }, () => Array.from({ length: 100 }, () => line as Line))
    const bytes: number[] = []
    for await (const { lines } of segmentsIn(chunks(lists), 2))
      bytes.push(lines.reduce((sum, { length }) => sum + length, 0))
    expect(bytes.reduce((sum, each) => sum + each)).toBe(2_000 * 10_001)
    expect(Math.max(...bytes)).toBeLessThanOrEqual(2 * chunkBytes + 100 * 10_001)
  })

  test('vaults that an owner gets are in one part', async () => {
    const lines = await linesOf([...marks, ...vaults.map((vault) => opened(vault, 'one'))])
    expect(segmentsOf(lines, 4).map(({ parts }) => parts)).toEqual([null])
  })
})

test('lines of a round that one writer applies are in batches of the usual size in bytes', async () => {
  const database = await emptyDatabase()
  const unused: Writer = {
    apply: () => Promise.reject(new Error('The lines have one vault')),
    close: () => Promise.resolve(),
  }
  const padding = ' '.repeat(100_000)
  const marks = Array.from(
    { length: 200 },
    (_, at) => `${padding}${JSON.stringify(mark(vaultA, midnight + 1 + at, '1'))}`,
  )
  const handled: number[] = [0]
  const summary = await ingest({
    ...{
      database,
      writers: [unused, unused],
      source: feedOf([strategy('one'), opened(vaultA, 'one'), ...marks], 1_000),
    },
    onBatch: (_summary, bytes) => void handled.push(bytes),
  })
  expect(summary.applied).toEqual({ strategy: 1, vault: 1, mark: 200 })
  const batches = handled.slice(1).map((bytes, at) => bytes - (handled[at] ?? 0))
  expect(Math.max(...batches)).toBeLessThanOrEqual(2 * chunkBytes + 101_000)
})

describe('gathered items', () => {
  test('are joined while they arrive without a pause, and an error follows them', async () => {
    const { promise: pauseSeen, resolve: seePause } = deferred()
    async function* source(): AsyncGenerator<string> {
      yield* await Promise.resolve(['1', '2', '3', '4', '5'])
      await pauseSeen
      yield '6'
      throw new Error('cut')
    }
    const lists: string[][] = []
    const read = async (): Promise<void> => {
      for await (const list of listsUntilPause(source(), () => 1, 3)) {
        lists.push(list)
        if (list.includes('5')) seePause()
      }
    }
    await expect(read()).rejects.toThrow('cut')
    expect(lists).toEqual([['1', '2', '3'], ['4', '5'], ['6']])
  })
})

describe.skipIf(postgresUrl === undefined)('several writers', () => {
  let folder: string
  let database: Database
  let writers: Writer[] = []
  let whole: { dump: Dump; summary: Summary }

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'jobs-'))
    const url = await createOnServer(postgresUrl ?? '')
    database = await openPostgreSql(url, 5)
    await migrate(database)
    writers = Array.from({ length: 4 }, () => createWriter(openPostgreSqlWriter(url)))
    whole = await applied(demo, { writers: [] })
  })
  afterAll(async () => {
    await Promise.all(writers.map((writer) => writer.close()))
    await database.close()
    await rm(folder, { recursive: true })
  })

  /** Applies facts to the empty database. */
  async function applied(facts: readonly (FactInput | string)[], options: Partial<IngestOptions> = {}) {
    await empty(database)
    const summary = await ingest({ database, source: feedOf(facts, 5_000), writers, ...options })
    return { dump: await dumpReadModel(database), summary }
  }

  /** Returns writers of which some fail, each at its own part. */
  function failing(fails: (part: number) => 'before' | 'after' | null): Writer[] {
    let parts = 0
    return writers.map((writer) => ({
      ...writer,
      async apply(part, gate) {
        const way = fails(parts++)
        if (way === 'before') throw new Error('The writer has failed')
        const result = await writer.apply(part, gate)
        if (way === 'after') throw new Error('The answer of the writer was lost')
        return result
      },
    }))
  }

  test('have the result of one writer', async () => {
    let parts = 0
    const counting = failing(() => (parts++, null))
    expect(await applied(demo, { writers: counting })).toEqual(whole)
    expect(parts).toBe(4)
  })

  test('count the vaults of an owner who loses one and gets another like one writer', async () => {
    const owners = [addressOf(901), addressOf(902)] as const
    const vaults = Array.from({ length: 18 }, (_, at) => addressOf(at + 1))
    const open = (at: number): FactInput => openedBy(owners[at === 17 ? 1 : 0], vaults[at])
    const before = [strategy('one'), ...[...vaults.keys()].filter((at) => at !== 16).map(open)]
    const marks = Array.from({ length: 50 }, (_, at) =>
      vaults.slice(0, 16).map((vault) => mark(vault, midnight + 1 + at, '0')),
    )
    const moved: FactInput = { kind: 'owner', ts: midnight + 100, vault: vaults[0] ?? '', owner: owners[1] }
    const facts = [...marks.flat(), moved, open(16)]
    const dumps: Dump[] = []
    for (const each of [[], writers]) {
      await applied(before, { writers: [] })
      await ingest({ database, source: { ...feedOf(facts, 5_000), name: 'later' }, writers: each })
      dumps.push(await dumpReadModel(database))
    }
    expect(dumps[1]).toEqual(dumps[0])
  })

  test.skipIf(realFeed === null)('have the result of one writer for real-market facts', async () => {
    const dumps: Dump[] = []
    for (const each of [[], writers]) {
      await empty(database)
      await ingest({ database, source: await fileSource(realFeed ?? ''), writers: each })
      dumps.push(await dumpReadModel(database))
    }
    expect(dumps[1]).toEqual(dumps[0])
  })

  test('wait for the correct clock like one writer, and set nothing aside by a wrong one', async () => {
    await applied(demo.slice(0, demo.length / 2), { writers: [] })
    // Of a round, of the batch after it, and of its repetition.
    const clocks = [0, 0, 0]
    const rejects = { file: '', write: vi.fn(() => Promise.resolve()) }
    const outageObserver = { onWait: vi.fn<(reason: Error) => void>(), onResume: vi.fn() }
    const nowSeconds = (): number => clocks.shift() ?? 4_000_000_000
    const source = { ...feedOf(demo.slice(demo.length / 2), 5_000), name: 'later' }
    const { rejected } = await ingest({ database, source, writers, rejects, outageObserver, nowSeconds })
    expect(rejected).toEqual({})
    expect(outageObserver.onWait.mock.calls.map(([reason]) => reason.name)).toEqual(['ClockBehind'])
    expect(rejects.write.mock.calls.flat(2)).toEqual([])
  })

  test('skip a feed that is applied', async () => {
    await applied(demo)
    const again = await ingest({ database, source: feedOf(demo, 5_000), writers })
    expect(again).toEqual({ applied: {}, skipped: whole.summary.applied, rejected: {} })
    expect(await dumpReadModel(database)).toEqual(whole.dump)
  })

  test.each(['before', 'after'] as const)('that fail %s their commit leave the same', async (way) => {
    const found = await applied(demo, { writers: failing((part) => (part % 3 === 1 ? way : null)) })
    expect(found.dump).toEqual(whole.dump)
    if (way === 'before') expect(found.summary).toEqual(whole.summary)
  })

  test('commit nothing after a bad line, and all before it', async () => {
    const at = demo.length - 300
    const bad = mark(addressOf(99), midnight, '1')
    const facts = [...demo.slice(0, at), bad, ...demo.slice(at)]
    await expect(applied(facts)).rejects.toBeInstanceOf(BadFact)
    const found = await dumpReadModel(database)
    expect(found).toEqual((await applied(demo.slice(0, at), { writers: [] })).dump)
  })

  test('set bad lines aside in their order', async () => {
    const facts = demo.flatMap((fact, at): (FactInput | string)[] => [
      fact,
      ...(at % 100 === 50 ? ['{', mark(addressOf(99), midnight + at, '1')] : []),
    ])
    const found: unknown[] = []
    for (const each of [[], writers]) {
      const rejects = rejectsFile(path.join(folder, `${each.length}.ndjson`))
      found.push({ ...(await applied(facts, { rejects, writers: each })), text: await readFile(rejects.file, 'utf8') })
    }
    expect(found[1]).toEqual(found[0])
  })

  test.each([0, 1])('do not apply lines that were set aside, where the response of part %i is lost', async (lost) => {
    const [a, b] = [addressOf(1), addressOf(2)]
    const marks = (vault: string, from: number): FactInput[] =>
      Array.from({ length: 250 }, (_, at) => mark(vault, midnight + from + at, '1'))
    const [openedA, openedB] = [openedBy(addressOf(901), a), openedBy(addressOf(902), b)]
    // A mark before its vault is opened: it is newer than those of the next round.
    const early = mark(a, midnight + 900, '1')
    const round = [strategy('one'), early, openedA, ...marks(a, 1), openedB, ...marks(b, 1)]
    const facts = [...round, strategy('two'), ...marks(a, 400), ...marks(b, 400)]
    const found: unknown[] = []
    for (const each of [[], failing((part) => (part === lost ? 'after' : null))]) {
      const rejects = rejectsFile(path.join(folder, `early-${lost}-${each.length}.ndjson`))
      const { dump, summary } = await applied(facts, { rejects, writers: each })
      found.push({ dump, rejected: summary.rejected, text: await readFile(rejects.file, 'utf8') })
    }
    expect(found[1]).toEqual(found[0])
  })

  test.each([
    ['where it was all', strategy('late'), 0],
    ['behind lines that brought nothing new', demo[0] as FactInput, 3],
  ])('apply again what the database has lost, also %s', async (_what, between, left) => {
    const file = path.join(folder, 'feed.ndjson')
    const middle = Math.floor(demo.length / 2)
    await writeFile(file, feedText([...demo.slice(0, middle), between, ...demo.slice(middle)]))
    const reopened: unknown[] = []
    const onReopen = (stored: { readonly line: number } | null): void => void reopened.push(stored?.line ?? null)
    let rounds = 0
    const losing: Database = {
      ...database,
      async transaction(work) {
        // Like a failover to a replica that lags.
        if (++rounds === 4) {
          await empty(database)
          if (left > 0) await ingest({ database, source: { ...feedOf(demo.slice(0, left)), name: path.resolve(file) } })
        }
        return database.transaction(work)
      },
    }
    await empty(database)
    await ingest({ database: losing, source: await fileSource(file), writers, onReopen })
    const found = await dumpReadModel(database)
    await empty(database)
    await ingest({ database, source: await fileSource(file) })
    expect(reopened).toEqual([left === 0 ? null : left])
    expect(found).toEqual(await dumpReadModel(database))
  })

  test('are not blocked for long by a writer that waits for them, which the server cannot see', async () => {
    await empty(database)
    await applied(demo.slice(0, 5), { writers: [] })
    const address = (demo.find(({ kind }) => kind === 'vault') as { vault: string }).vault
    const lockVault = { name: 'lock_one', text: 'select id from vault where lower(address) = lower($1) for update' }
    let found: Promise<unknown> = Promise.resolve()
    await database.transaction(async (transaction) => {
      await transaction.query(lockVault, [address])
      const lines = (await linesOf([mark(address, midnight + 10_000_000, '5')])).map(({ bytes, length }) => ({
        bytes,
        length,
      }))
      const part = { lines, setAsideBad: false, clockSeconds: undefined, base: null }
      // This transaction ends only when the writer has given up.
      found = writers[0]?.apply(part, () => Promise.resolve()).catch((error: unknown) => error) ?? found
      expect(await found).toBeInstanceOf(DatabaseUnavailable)
    })
  }, 30_000)

  test('apply nothing to a database without the commits before', async () => {
    await empty(database)
    const part = { lines: [], setAsideBad: false, clockSeconds: undefined, base: '7.1234' }
    await expect(writers[0]?.apply(part, () => Promise.resolve())).rejects.toBeInstanceOf(CommitsLost)
  })
})
