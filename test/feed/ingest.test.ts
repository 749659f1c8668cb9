import { truncateSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Transaction } from '../../src/database/database.ts'
import { knownStrategies } from '../../src/database/write/strategy.ts'
import { toAddress } from '../../src/domain/address.ts'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import { UnreadableFeed } from '../../src/feed/errors.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import type { KindCounts, Summary } from '../../src/feed/summary.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { fileSource, inputSource, type Source } from '../../src/feed/reading/source.ts'
import { emptyDatabase, postgresUrl, type TestDatabase } from '../support/database.ts'
import { type Dump, dump, dumpReadModel } from '../support/dump.ts'
import { feedText } from '../support/feeds.ts'
import { bufferBytes } from '../support/heap.ts'
import { blockingRejects } from '../support/blocking-rejects.ts'
import {
  apply,
  deposit,
  event,
  feedOf,
  mark,
  midnight,
  opened,
  position,
  strategy,
  vaultA,
  vaultB,
} from '../support/world.ts'

const demo = demoFacts(midnight)
const text = feedText(demo)

/** Returns a stream of bytes in chunks of these sizes, which repeat. */
function inPieces(bytes: Buffer, sizes: readonly number[], name = 'pieces'): Source {
  function* pieces(): Generator<Buffer> {
    for (let from = 0, index = 0; from < bytes.length; index++) {
      const to = from + (sizes[index % sizes.length] ?? bytes.length)
      yield bytes.subarray(from, to)
      from = to
    }
  }
  return { ...inputSource(Readable.from(pieces())), name }
}

function total(counts: KindCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

/** Resolves when a transaction waits for a lock of another one, or when the work is done. */
async function transactionWaits(before: Promise<unknown>): Promise<'someone waits' | undefined> {
  const text = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const work = { isDone: false }
  void before.finally(() => (work.isDone = true))
  while (!work.isDone) {
    if ((await database.query({ name: 'waiting', text }, [])).length > 0) return 'someone waits'
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return undefined
}

test('the memory of a run does not grow with the feed', async () => {
  const empty = await emptyDatabase()
  const blank = `${' '.repeat(2_000_000)}\n`
  function* pieces(): Generator<Buffer> {
    for (let at = 0; at < 60; at++) yield Buffer.from(`${JSON.stringify(strategy(`s${at}`))}\n${blank}`)
  }
  const held: number[] = []
  const onBatch = (): void => void held.push(bufferBytes())
  await ingest({ database: empty, source: inputSource(Readable.from(pieces())), onBatch })
  expect(held).toHaveLength(60)
  expect(Math.max(...held) - (held[5] ?? 0)).toBeLessThan(30_000_000)
})

let database: TestDatabase
/** The read model of the demo feed, applied in one run. */
let whole: Dump
let summary: Summary

beforeAll(async () => {
  database = await emptyDatabase()
  summary = await ingest({ database, source: feedOf(demo) })
  whole = await dumpReadModel(database)
})

test('counts applied facts by kind', () => {
  const kinds = demo.reduce<KindCounts>((counts, { kind }) => ({ ...counts, [kind]: (counts[kind] ?? 0) + 1 }), {})
  expect(summary).toEqual({ applied: kinds, skipped: {}, rejected: {} })
  for (const table of ['strategy', 'universe_pair', 'vault', 'position', 'equity_point', 'vault_day', 'ledger_row']) {
    expect(whole[table], table).not.toHaveLength(0)
  }
})

test('a strategy or screen older than the current one is stored, and changes no response', async () => {
  await emptyDatabase()
  const screen = (ts: number, symbol: string): FactInput => {
    const asset = { symbol, name: symbol, category: 'major' as const, venues: ['v'], liquidityUsd: '1' }
    return { kind: 'screen', ts, assets: [asset], pairs: [], strategies: {} }
  }
  const newest = [{ ...strategy('one', midnight), name: 'New' } as FactInput, screen(midnight, 'NEW')]
  const older = [{ ...strategy('one', midnight - 9), name: 'Old' } as FactInput, screen(midnight - 9, 'OLD')]
  for (const facts of [newest, older, older]) await apply(database, facts)
  expect((await apply(database, older)).skipped).toEqual({ strategy: 1, screen: 1 })
  const served = async () => {
    const { strategy: strategies, universe_asset: assets } = await dumpReadModel(database)
    return [...(strategies ?? []), ...(assets ?? [])]
  }
  const theNewest = [expect.stringContaining('"name": "New"'), expect.stringContaining('"symbol": "NEW"')]
  expect(await served()).toEqual(theNewest)
  await emptyDatabase()
  await apply(database, [...newest, ...older])
  expect(await served()).toEqual(theNewest)
})

describe('a feed that is known already', () => {
  test('changes nothing and is skipped whole', async () => {
    await emptyDatabase()
    await ingest({ database, source: feedOf(demo) })
    const before = await dump(database)
    expect(await ingest({ database, source: feedOf(demo) })).toEqual({
      applied: {},
      skipped: summary.applied,
      rejected: {},
    })
    expect(await dump(database)).toEqual(before)
  })

  const facts: FactInput[] = [
    strategy('one'),
    opened(vaultA, 'one'),
    deposit(vaultA, midnight + 10, '100'),
    mark(vaultA, midnight + 20, '101.5', {
      positions: [{ ...position('p'), ticks: { lower: -5, upper: 5, current: 0 } }],
      fees: { contributedUsd: '1', withdrawnUsd: '2', taxedUsd: '3', highWaterUsd: '100' },
    }),
    event(vaultA, midnight + 30, { type: 'harvest', positionId: 'p', amountUsd: '7' }),
  ]
  const amounts = /"(\w+Usd|amount|USDC|lower|upper|current)":"(\d+(?:\.\d+)?)"/g
  const rewritings: [name: string, rewrite: (line: string) => string][] = [
    ['keys in another order', (line) => JSON.stringify(reversed(JSON.parse(line)))],
    [
      'zeros behind the point',
      (line) => line.replace(amounts, (_, key: string, digits: string) => `"${key}":"${padded(digits)}"`),
    ],
    ['zeros in front', (line) => line.replace(amounts, '"$1":"00$2"')],
    ['numbers for texts', (line) => line.replace(amounts, '"$1":$2')],
    ['numbers with exponents', (line) => line.replace(amounts, '"$1":$2e0')],
    ['addresses with a checksum', (line) => line.replaceAll(vaultA, toAddress(vaultA))],
    ['addresses in capitals', (line) => line.replaceAll(vaultA, `0x${vaultA.slice(2).toUpperCase()}`)],
    ['hashes in capitals', (line) => line.replace(/[0-9a-f]{64}/, (digits) => digits.toUpperCase())],
    ['blanks between', (line) => `  ${line.replaceAll(',"', ' ,\t"').replaceAll('":', '" : ')} \r`],
    ['letters escaped', (line) => line.replaceAll('USDC', '\\u0055SDC')],
  ]

  test.each(rewritings)('is known with %s', async (_name, rewrite) => {
    await emptyDatabase()
    await apply(database, facts)
    const before = await dumpReadModel(database)
    const rewritten = facts.map((fact) => rewrite(JSON.stringify(fact)))
    expect(rewritten).not.toEqual(facts.map((fact) => JSON.stringify(fact)))
    expect(await apply(database, rewritten)).toMatchObject({ applied: {}, rejected: {} })
    expect(await dumpReadModel(database)).toEqual(before)
  })

  function reversed(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return Array.isArray(value) ? value.map(reversed) : value
    }
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, inner]) => [key, reversed(inner)]),
    )
  }

  function padded(digits: string): string {
    return digits.includes('.') ? `${digits}0` : `${digits}.00`
  }
})

describe('the result does not depend on the input:', () => {
  let folder: string
  const file = (name: string): string => path.join(folder, name)
  const packed = gzipSync(text)
  const middle = text.indexOf('\n', text.length / 2) + 7

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'ingest-'))
    await writeFile(file('plain.ndjson'), text)
    await writeFile(file('packed.ndjson.gz'), packed)
    await writeFile(file('no-newline.ndjson'), text.trimEnd())
    await writeFile(
      file('two-parts.gz'),
      Buffer.concat([gzipSync(text.slice(0, middle)), gzipSync(text.slice(middle))]),
    )
  })
  beforeEach(async () => {
    await emptyDatabase()
  })
  afterAll(() => rm(folder, { recursive: true }))

  test.each<[string, () => Source | Promise<Source>]>([
    ['a plain file', () => fileSource(file('plain.ndjson'))],
    ['a gzipped file', () => fileSource(file('packed.ndjson.gz'))],
    ['a file without its last newline', () => fileSource(file('no-newline.ndjson'))],
    ['a file gzipped in parts', () => fileSource(file('two-parts.gz'))],
    ['standard input', () => inputSource(Readable.from([Buffer.from(text)]))],
    ['standard input that begins with an empty piece', () => inPieces(Buffer.from(text), [0, 100_000])],
    ['gzipped standard input', () => inPieces(packed, [9_999])],
    ['gzipped standard input, byte by byte', () => inPieces(packed, [1])],
  ])('%s', async (_name, source) => {
    expect(await ingest({ database, source: await source() })).toEqual(summary)
    expect(await dumpReadModel(database)).toEqual(whole)
  })

  test('any pieces, and so any batches', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 100 })
    await fc.assert(
      fc.asyncProperty(sizes, async (some) => {
        await emptyDatabase()
        expect(await ingest({ database, source: inPieces(Buffer.from(text), [...some, 4_000]) })).toEqual(summary)
        expect(await dumpReadModel(database)).toEqual(whole)
      }),
      { numRuns: 4, endOnFailure: true },
    )
  })

  test('line by line', async () => {
    const lines = demo.slice(0, 200).map((fact) => `${JSON.stringify(fact)}\n`)
    await ingest({ database, source: inputSource(Readable.from([Buffer.from(lines.join(''))])) })
    const atOnce = await dumpReadModel(database)
    await emptyDatabase()
    await ingest({ database, source: inputSource(Readable.from(lines.map((line) => Buffer.from(line)))) })
    expect(await dumpReadModel(database)).toEqual(atOnce)
  })

  test('flows and a mark of one second, in a batch each', async () => {
    const at = midnight + 10
    const facts = [
      ...[strategy('one'), opened(vaultA, 'one'), deposit(vaultA, at, '1000')],
      mark(vaultA, at, '1001', { positions: [position('one', '100')] }),
      { ...deposit(vaultA, at, '500', '1001'), logIndex: 999 },
      mark(vaultA, at + 60, '1502'),
    ]
    await apply(database, facts)
    const atOnce = await dumpReadModel(database)
    await emptyDatabase()
    for (const fact of facts) await apply(database, [fact])
    expect(await dumpReadModel(database)).toEqual(atOnce)
  })

  describe('a feed that cannot be read is refused with its name:', () => {
    test.each<[string, Buffer]>([
      ['a torn gzip', packed.subarray(0, packed.length / 2)],
      ['a gzip torn within its last bytes', packed.subarray(0, -3)],
      [
        'a gzip that is damaged',
        Buffer.concat([packed.subarray(0, 5_000), Buffer.alloc(500, 7), packed.subarray(5_500)]),
      ],
    ])('%s', async (_name, bytes) => {
      expect(() => gunzipSync(bytes)).toThrow()
      await writeFile(file('bad.gz'), bytes)
      const error: unknown = await fileSource(file('bad.gz'))
        .then((source) => ingest({ database, source }))
        .catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(UnreadableFeed)
      expect((error as Error).message).toMatch(`${file('bad.gz')} can't be unpacked to its end: `)

      await ingest({ database, source: await fileSource(file('packed.ndjson.gz')) })
      expect(await dumpReadModel(database)).toEqual(whole)
    })

    test('a gzip with zero bytes after it, and then something else', async () => {
      const [padded, hidden] = [
        Buffer.concat([packed, Buffer.alloc(1_000)]),
        gzipSync(text.slice(0, text.indexOf('\n') + 1)),
      ]
      await writeFile(file('padded.gz'), padded)
      await ingest({ database, source: await fileSource(file('padded.gz')) })
      expect(await dumpReadModel(database)).toEqual(whole)
      await writeFile(file('bad.gz'), Buffer.concat([padded, hidden]))
      const source = await fileSource(file('bad.gz'))
      await expect(ingest({ database, source })).rejects.toThrow(`${file('bad.gz')} can't be unpacked to its end: `)
    })

    test('a missing file', async () => {
      await expect(fileSource(file('none'))).rejects.toThrow(`${file('none')} can't be opened: ENOENT`)
    })

    test('a folder', async () => {
      await expect(fileSource(folder)).rejects.toThrow(new UnreadableFeed(folder, 'is not a file'))
    })
  })
})

test('a file that is truncated while it is read is an error, not the end', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'truncated-'))
  const file = path.join(folder, 'feed.ndjson')
  const description = 'x'.repeat(10_000)
  const facts = Array.from({ length: 600 }, (_, at) => ({ ...strategy(`s-${at}`), description }) as FactInput)
  await writeFile(file, feedText(facts))
  const onBatch = (): void => truncateSync(file, 100)
  const running = ingest({ database: await emptyDatabase(), source: await fileSource(file), onBatch })
  await expect(running).rejects.toThrow(/feed\.ndjson was truncated while it was read/)
  await rm(folder, { recursive: true })
})

describe('two feeds of different vaults of one strategy at once', () => {
  const catalogue = demo.filter((fact) => !('vault' in fact))
  const addresses = demo.flatMap((fact) => (fact.kind === 'vault' && fact.strategy === 'eth-core' ? [fact.vault] : []))
  const feeds = addresses.map((address) => {
    const facts = demo.filter((fact) => 'vault' in fact && fact.vault === address)
    return Buffer.from(feedText([...catalogue, ...facts]))
  })
  const sourceOf = (bytes: Buffer, index: number): Source => inPieces(bytes, [12_000], `feed ${index}`)

  test('have the result of one after the other', async () => {
    expect(feeds.length).toBeGreaterThan(1)
    await emptyDatabase()
    for (const [index, bytes] of feeds.entries()) await ingest({ database, source: sourceOf(bytes, index) })
    const oneByOne = await dump(database)

    await emptyDatabase()
    const summaries = await Promise.all(
      feeds.map((bytes, index) => ingest({ database, source: sourceOf(bytes, index) })),
    )
    expect(await dump(database)).toEqual(oneByOne)
    const applied = summaries.reduce((sum, each) => sum + total(each.applied), 0)
    expect(applied).toBe(demo.filter((fact) => !('vault' in fact) || addresses.includes(fact.vault)).length)
  })

  test.runIf(postgresUrl !== undefined)(
    'do not wait for each other: one ends while the transaction of the other is open',
    async () => {
      await emptyDatabase()
      const opening = [strategy('one'), ...[vaultA, vaultB].map((vault) => opened(vault, 'one'))]
      await apply(database, [...opening, deposit(vaultA, midnight + 10, '100'), deposit(vaultB, midnight + 10, '100')])
      const { rejects, isBlocked, release } = blockingRejects()
      const feedNamed = (name: string, fact: FactInput): Source => ({ ...feedOf([fact]), name })
      const first = ingest({ database, source: feedNamed('first', mark(vaultA, midnight + 20, '101')), rejects })
      await Promise.race([isBlocked, first])
      const second = ingest({ database, source: feedNamed('second', mark(vaultB, midnight + 20, '102')) })
      const outcome = await Promise.race([second, transactionWaits(second)]).finally(async () => {
        release()
        await Promise.allSettled([first, second])
      })
      expect(outcome).toMatchObject({ applied: { mark: 1 } })
      expect(await first).toMatchObject({ applied: { mark: 1 } })
    },
  )

  test('skip a strategy that the other one publishes while they read, where its fact is known', async () => {
    await emptyDatabase()
    let before: Promise<unknown> = Promise.resolve()
    const query: Transaction['query'] = (...statement) => {
      const result = before.then(() => database.transaction((transaction) => transaction.query(...statement)))
      before = result.then(() => apply(database, [strategy('one')]))
      return result as never
    }
    const { ids, revisions } = await knownStrategies({ query }, [{ id: 'one', ts: strategy('one').ts }])
    await before
    expect(revisions.filter(({ strategyId }) => !ids.has(strategyId))).toEqual([])
  })

  test('and one feed twice concurrently has the result of one run', async () => {
    await emptyDatabase()
    const sources = [0, 1].map((index) => inPieces(Buffer.from(text), [20_000], `feed ${index}`))
    const summaries = await Promise.all(sources.map((source) => ingest({ database, source })))
    expect(await dumpReadModel(database)).toEqual(whole)
    const counts = summaries.map(({ applied, skipped }) => [total(applied), total(skipped)] as const)
    expect(counts.reduce((sum, [applied]) => sum + applied, 0)).toBe(demo.length)
    expect(counts.reduce((sum, [, skipped]) => sum + skipped, 0)).toBe(demo.length)
  })
})

describe('a JSON number is read through its own text', () => {
  test.each([
    ['with more digits than a float has', '12345678901234567890.123456', '12345678901234567890.123456'],
    ['that no float equals', '0.1', '0.100000'],
    ['with an exponent', '1.5e3', '1500.000000'],
    ['beyond the safe integers', '9007199254740993', '9007199254740993.000000'],
  ])('%s', async (_name, number, stored) => {
    await emptyDatabase()
    const line = JSON.stringify(mark(vaultA, midnight + 1, 'VALUE')).replace('"VALUE"', number)
    await apply(database, [strategy('one'), opened(vaultA, 'one'), line])
    const { vault = [], equity_point: points = [] } = await dump(database)
    expect(vault).toEqual([expect.stringContaining(`"value_usd": ${stored}`)])
    expect(points).toEqual([expect.stringContaining(`"value_usd": ${stored}`)])
  })
})

test('a run that is stopped ends at a committed batch, and the next one applies the rest', async () => {
  await emptyDatabase()
  const stopping = new AbortController()
  const onBatch = ({ applied }: Summary): void => {
    if (total(applied) > 300) stopping.abort()
  }
  const first = await ingest({
    database,
    source: inPieces(Buffer.from(text), [20_000]),
    onBatch,
    signal: stopping.signal,
  })
  expect(total(first.applied)).toBeGreaterThan(300)
  expect(total(first.applied)).toBeLessThan(demo.length)
  const second = await ingest({ database, source: inPieces(Buffer.from(text), [20_000]) })
  expect(total(second.skipped)).toBe(total(first.applied))
  expect(await dumpReadModel(database)).toEqual(whole)
})
