import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Statement } from '../../../src/database/database.ts'
import { countLedger, type LedgerPage, readLedger } from '../../../src/database/read/ledger.ts'
import type { LedgerRow } from '../../../src/database/read/rows.ts'
import { type EventType, ledgerSpans } from '../../../src/domain/ledger.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { ingest } from '../../../src/feed/ingest.ts'
import { createDatabase, emptyDatabase, runScript, type TestDatabase } from '../../support/database.ts'
import { dumpReadModel } from '../../support/dump.ts'
import { explainReads } from '../../support/explain.ts'
import {
  compareKeys,
  completeSpans,
  identities,
  longLedger,
  type LongRow,
  pageOfRows,
  storeLedgers,
} from '../../support/long-ledger.ts'
import { addressOf, apply, event, feedOf, midnight, opened, strategy } from '../../support/world.ts'

const everything: LedgerPage = { types: null, since: 0, until: 253_402_300_800, first: 100, after: null }
/** More than a span of the third level has, and rows beyond it on each level. */
const rowCount = ledgerSpans.rows * ledgerSpans.fan ** (ledgerSpans.levels - 1) + 20_000
const middle = Math.floor(rowCount / 2)
const blockOf = (index: number): number => 10 + Math.floor(index / 3)
const timeOf = (part: number): number => midnight + Math.floor((rowCount * part) / 3) * 12

/** Blocks of the row with an index, by what is wrong with their order. */
const disorders: readonly [name: string, blockOf: (index: number) => number][] = [
  ['one row is in the block before that of the last one', (index) => blockOf(index) - (index === middle ? 1 : 0)],
  ['blocks begin again', (index) => blockOf(index % middle)],
  ['blocks are in no order', (index) => blockOf((index * 7_919) % rowCount)],
]
const vaults = disorders.map((_, index) => addressOf(index + 1))

const digestsOf = (table: string, columns: string): string =>
  `select level, '${table} ' || count(*) || md5(string_agg(concat_ws(' ', ${columns}), '' order by ${columns})) as digest from ${table} group by level`
const spanDigests: Statement = {
  name: 'span_digests',
  text: `${digestsOf('ledger_span', 'vault_id, ordinal, last_ts')}
    union all ${digestsOf('ledger_span_page', 'vault_id, ordinal, list, first_key, keys')} order by 1, 2`,
}

describe('a window of a long ledger whose rows did not arrive in the order of blocks', () => {
  let database: TestDatabase
  /** Newest first. */
  const rows = new Map<string, LongRow[]>()

  beforeAll(async () => {
    database = await createDatabase()
    await apply(database, [strategy('one'), ...vaults.map((vault) => opened(vault, 'one'))])
    await database.prisma.$executeRawUnsafe('alter table ledger_row set (autovacuum_enabled = false)')
    await database.prisma.$executeRawUnsafe('analyze')
    const arrived = vaults.map((vault, at) => [vault, longLedger(rowCount, disorders[at]?.[1] ?? blockOf)] as const)
    await storeLedgers(database, new Map(arrived))
    for (const [vault, ledger] of arrived)
      rows.set(
        vault,
        ledger.sort((one, other) => compareKeys(other, one)),
      )
    await completeSpans(database)
  }, 300_000)

  afterAll(() => database.close())

  const windows: readonly [name: string, page: Partial<LedgerPage>][] = [
    ['at the beginning', { since: timeOf(0.03), until: timeOf(0.03) + 120 }],
    ['in the middle', { since: timeOf(0.5) - 60, until: timeOf(0.5) + 60 }],
    ['at the end', { since: timeOf(0.97), until: timeOf(0.97) + 120 }],
    ['up to the middle', { until: timeOf(0.5) }],
    ['from the middle on', { since: timeOf(0.5) }],
    ['of most rows', { since: timeOf(0.001), until: timeOf(0.999) }],
    [
      'of most rows, after a cursor',
      {
        since: timeOf(0.001),
        until: timeOf(0.999),
        after: { block: 300, logIndex: 1, txHash: `0x${'55'.repeat(32)}` },
      },
    ],
    ['of a type', { since: timeOf(0.1), until: timeOf(0.6), types: ['fee'] }],
    ['of types', { since: timeOf(0.1), until: timeOf(0.6), types: ['resume', 'withdraw'] }],
    ['of a rare type', { since: timeOf(0.1), until: timeOf(0.6), types: ['resume'] }],
    ['of a type that it has none of', { since: timeOf(0.1), until: timeOf(0.6), types: ['exit'] }],
    ['before its beginning', { until: midnight }],
    ['after its end', { since: timeOf(1) + 100 }],
    ['of no time', { since: timeOf(0.5), until: timeOf(0.5) }],
  ]

  describe.each<[when: string, prepare: () => Promise<unknown>]>([
    ['while the statistics are of when it was empty', () => Promise.resolve()],
    ['once they are of now', () => database.prisma.$executeRawUnsafe('analyze')],
  ])('%s', (_when, prepare) => {
    beforeAll(prepare, 60_000)

    describe.each(disorders.map(([name], at) => [name, vaults[at] ?? ''] as const))('where %s', (_disorder, vault) => {
      test.each(windows)('%s is read from few rows', async (_name, window) => {
        const page = { ...everything, ...window }
        expect(identities(await readLedger(database, [vault], page))).toEqual(
          identities(pageOfRows(rows.get(vault) ?? [], page)),
        )
        const read = await explainReads(database, (counted) => readLedger(counted, [vault], page))
        // Those at both ends of the window and after the last span, those of the page, and pages of keys of each span.
        expect(read.rows, read.scans.join(', ')).toBeLessThanOrEqual(3 * (ledgerSpans.rows + 64) + 800)
        expect(read.pages, read.scans.join(', ')).toBeLessThanOrEqual(4_000)
        const count = await explainReads(database, (counted) => countLedger(counted, [vault], page))
        expect(count.rows, count.scans.join(', ')).toBeLessThanOrEqual(150)
      })
    })
  })

  const at = fc.oneof(
    fc.double({ min: 0, max: 1, noNaN: true }).map(timeOf),
    fc.constantFrom(0, midnight, everything.until),
  )
  const pages = fc.record({
    types: fc.option(fc.subarray<EventType>(['fee', 'withdraw', 'resume', 'exit'])),
    since: at,
    until: at,
    first: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 1_000 })),
    after: fc.option(
      fc.record({
        block: fc.oneof(fc.nat(blockOf(rowCount)), fc.nat(2 * 10 ** 7)),
        logIndex: fc.nat(3),
        row: fc.nat(rowCount - 1),
      }),
    ),
  })

  async function agrees(numRuns: number): Promise<void> {
    await fc.assert(
      fc.asyncProperty(
        pages,
        fc.subarray(vaults, { minLength: 1, maxLength: 3 }),
        async ({ after, ...page }, chosen) => {
          const cursor = after && {
            block: after.block,
            logIndex: after.logIndex,
            txHash: rows.get(vaults[0] ?? '')?.[after.row]?.txHash ?? '',
          }
          const read = await readLedger(database, chosen, { ...page, after: cursor })
          for (const vault of chosen) {
            const expected = pageOfRows(rows.get(vault) ?? [], { ...page, after: cursor })
            expect(identities(read.filter(({ vaultAddress }) => vaultAddress === vault))).toEqual(identities(expected))
          }
          if (page.since > page.until) return
          const counted = await countLedger(database, chosen, page)
          for (const { vault, count } of counted) {
            expect(count).toBe(pageOfRows(rows.get(vault) ?? [], { ...page, first: rowCount, after: null }).length)
          }
        },
      ),
      { numRuns, endOnFailure: true },
    )
  }

  test(
    'has the rows of a filtered and sorted list, in every window, of all types, after any cursor',
    () => agrees(40),
    120_000,
  )

  test('has the spans that the migration creates of rows that are stored already', async () => {
    const spans = () => database.query<{ level: number; digest: string }>(spanDigests, [])
    const written = await spans()
    const { pathname } = new URL(
      '../../../prisma/migrations/20261129000000_ledger_spans/migration.sql',
      import.meta.url,
    )
    const sql = await readFile(pathname, 'utf8')
    await runScript(database, `truncate ledger_span, ledger_span_page; ${sql.slice(sql.indexOf('INSERT INTO'))}`)
    expect(await spans()).toEqual(written)
    expect(written.map(({ level }) => level)).toEqual([1, 1, 2, 2, 3, 3])
  }, 120_000)

  test('has the same rows while the newest spans are missing, as after an older version has written rows', async () => {
    await database.prisma.$executeRawUnsafe(
      'delete from ledger_span_page where level = 3 or ordinal >= 270 / power(16, level - 1)::integer',
    )
    await database.prisma.$executeRawUnsafe(
      'delete from ledger_span where level = 3 or ordinal >= 270 / power(16, level - 1)::integer',
    )
    await agrees(20)
    await completeSpans(database)
    await agrees(10)
  }, 120_000)
})

describe('a ledger whose rows the projector has written', () => {
  const vault = addressOf(1)
  const inOrder = addressOf(2)
  const count = 3 * ledgerSpans.rows
  const steps = fc.array(
    fc.record({
      // Many rows of one second, and seconds without any.
      seconds: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(3) }),
      block: fc.oneof(
        { weight: 8, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.nat(2_000) },
        { weight: 1, arbitrary: fc.constantFrom(2 ** 42 - 2, 2 ** 42, 2 ** 50) },
      ),
      logIndex: fc.oneof(fc.nat(5), fc.constantFrom(2 ** 21 - 1, 2 ** 21, 2 ** 31 - 1)),
      type: fc.constantFrom<'fee' | 'resume'>('fee', 'fee', 'resume'),
    }),
    { minLength: count, maxLength: count },
  )

  function factsOf(given: typeof steps extends fc.Arbitrary<infer Value> ? Value : never): FactInput[] {
    let ts = midnight
    return [strategy('one'), opened(vault, 'one'), opened(inOrder, 'one')].concat(
      given.flatMap(({ seconds, block, logIndex, type }, index): FactInput[] => {
        ts += seconds
        const details = type === 'fee' ? { type, amountUsd: '1' } : { type }
        const txHash = `0x${index.toString(16).padStart(64, '0')}`
        return [
          { ...event(vault, ts, details), block: block ?? 1 + Math.floor(index / 2), logIndex, txHash } as FactInput,
          ...(index % 3 === 0 ? [{ ...event(inOrder, ts, details), block: index, logIndex, txHash } as FactInput] : []),
        ]
      }),
    )
  }

  test('has its rows in every window, and the same spans whatever the batches', async () => {
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.integer({ min: 20, max: 700 }),
        fc.infiniteStream(fc.nat()),
        async (given, together, numbers) => {
          const database = await emptyDatabase()
          const facts = factsOf(given)
          expect(await ingest({ database, source: feedOf(facts, together) })).toMatchObject({ rejected: {} })
          const all: LedgerRow[] = []
          for (const address of [vault, inOrder]) {
            for (let after = everything.after; ;) {
              const found: LedgerRow[] = await readLedger(database, [address], { ...everything, first: 1_000, after })
              all.push(...found.slice(0, 1_000))
              if (found.length <= 1_000) break
              after = found[999] ?? null
            }
          }
          expect(all).toHaveLength(facts.length - 3)
          const until = Math.max(...all.map(({ ts }) => ts)) + 2
          const next = (max: number): number => (numbers.next().value ?? 0) % max
          for (let run = 0; run < 40; run++) {
            const since = midnight - 1 + next(until - midnight + 2)
            const row = all[next(all.length)]
            const page: LedgerPage = {
              types: [null, ['fee'], ['resume'], ['resume', 'fee'], ['exit']][next(5)] as EventType[] | null,
              since: next(3) === 0 ? 0 : since,
              until: next(3) === 0 ? everything.until : since + next(until - since + 1),
              first: 1 + next(300),
              after: next(2) === 0 || row === undefined ? null : row,
            }
            for (const address of [vault, inOrder]) {
              const expected = pageOfRows(
                all.filter(({ vaultAddress }) => vaultAddress === address),
                page,
              )
              expect(await readLedger(database, [address], page)).toEqual(expected)
            }
          }
          const once = await dumpReadModel(database)
          const inOrderSpans = (once['ledger_span'] ?? []).filter((text) => text.includes(inOrder))
          expect(inOrderSpans).toEqual([])
          await emptyDatabase()
          await ingest({ database, source: feedOf(facts, facts.length) })
          const again = await dumpReadModel(database)
          for (const table of ['ledger_span', 'ledger_span_page']) {
            expect(again[table]).toEqual(once[table])
            expect(once[table]).not.toEqual([])
          }
        },
      ),
      { numRuns: 3, endOnFailure: true },
    )
  }, 180_000)
})
