import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/database/database.ts'
import {
  countLedger,
  type LedgerFilter,
  type LedgerPage,
  readLedger,
  readLedgerRows,
} from '../../../src/database/read/ledger.ts'
import type { LedgerRow } from '../../../src/database/read/rows.ts'
import { type EventType, eventTypes, type LedgerKey, tallyRows } from '../../../src/domain/ledger.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { fillLedgerTallies } from '../../bench/speed/world.ts'
import { createDatabase, emptyDatabase, readingBy, runScript, type TestDatabase } from '../../support/database.ts'
import { dump } from '../../support/dump.ts'
import { explainReads } from '../../support/explain.ts'
import { addressOf, apply, event, midnight, opened, strategy } from '../../support/world.ts'

const long = addressOf(1)
const disordered = addressOf(2)
/** A vault with many rows in each of two blocks. */
const crowded = addressOf(3)
const rowCount = 200_000
const first = 100
const everything: LedgerPage = { types: null, since: 0, until: 253_402_300_800, first, after: null }

/** Adds rows that are mostly fees; suspensions are the oldest ones, and there is a deposit in each ten thousand. */
async function lengthenLedger(database: Database): Promise<void> {
  await database.prisma.$executeRawUnsafe(
    `insert into ledger_row (vault_id, tx_hash, log_index, block, ts, type, amount_usd, reason, digest)
     select (select id from vault where address = $1), decode(lpad(to_hex(index), 64, '0'), 'hex'), index % 3, index / 3, $2::bigint + index / 3 * 12, type,
       case when type <> 'suspend' then 1 end, case when type = 'suspend' then 'why' end, ''
     from generate_series(0, $3::integer - 1) as index cross join lateral (
       select (case when index < 20 then 'suspend' when index % 10000 = 7000 then 'deposit' else 'fee' end)::event_type
         as type) what`,
    long,
    midnight,
    rowCount,
  )
  await database.prisma.$executeRawUnsafe(
    'update vault set ledger_block = $2::bigint, updated_at = opened_at + $2::bigint * 12 where address = $1',
    long,
    blockOf(rowCount - 1),
  )
  await fillLedgerTallies((sql) => runScript(database, sql))
}

async function crowdLedger(database: Database): Promise<void> {
  await runScript(
    database,
    `insert into ledger_row (vault_id, tx_hash, log_index, block, ts, type, amount_usd, digest)
      select (select id from vault where address = '${crowded}'), decode(lpad(to_hex(index * 7919 % 6000), 64, '0'), 'hex'), index % 3000,
        index / 3000, ${midnight} + index / 3000, 'fee', 1, '' from generate_series(0, 5999) as index;
    update vault set updated_at = ${midnight + 1} where address = '${crowded}'; analyze`,
  )
}

const blockOf = (index: number): number => Math.floor(index / 3)
const timeOf = (index: number): number => midnight + blockOf(index) * 12
const keyOf = (index: number): LedgerKey => ({
  block: blockOf(index),
  logIndex: index % 3,
  txHash: `0x${index.toString(16).padStart(64, '0')}`,
})

describe('a page of a long ledger', () => {
  let database: TestDatabase

  beforeAll(async () => {
    // A database of its own: truncated tables keep the statistics of the rows that they had.
    database = await createDatabase()
    await apply(database, [strategy('one'), opened(long, 'one')])
    // A vacuum in the middle of the one long insert would leave statistics of a table with pages and no rows.
    await database.prisma.$executeRawUnsafe('alter table ledger_row set (autovacuum_enabled = false)')
    await database.prisma.$executeRawUnsafe('analyze')
    await lengthenLedger(database)
  }, 120_000)

  afterAll(() => database.close())

  const read = (page: Partial<LedgerPage>) =>
    explainReads(database, (counted) => readLedger(counted, [long], { ...everything, ...page }))

  const deep = keyOf(190)
  const old = { since: timeOf(300), until: timeOf(1_000) }
  const wide = { since: timeOf(300), until: timeOf(199_000) }
  const rare: EventType[] = ['suspend', 'deposit']

  describe.each<[when: string, prepare: () => Promise<unknown>]>([
    ['while the statistics are of when it was empty', () => Promise.resolve()],
    ['once they are of now', () => database.prisma.$executeRawUnsafe('analyze')],
  ])('%s', (_when, prepare) => {
    beforeAll(prepare)

    test.each<[name: string, page: Partial<LedgerPage>]>([
      ['the newest', {}],
      ['the oldest, after a cursor', { after: deep }],
      ['the newest of a rare type', { types: ['deposit'] }],
      ['the oldest of a type', { types: ['fee'], after: deep }],
      ['of a type that only the oldest rows have', { types: ['suspend'] }],
      ['of a type that it has none of', { types: ['exit'] }],
      ['of rare types', { types: rare }],
      ['of rare types, after a cursor', { types: rare, after: keyOf(60_000) }],
      ['of all types', { types: [...eventTypes] }],
      ['of all types, after a cursor', { types: [...eventTypes], after: deep }],
      ['of an old span', old],
      ['of an old span, after a cursor', { ...old, after: keyOf(700) }],
      ['of an old span and a type', { ...old, types: ['fee'] }],
      ['of an old span and rare types', { ...old, types: rare }],
      ['of a wide span, after a cursor', { ...wide, after: keyOf(150_000) }],
      ['of a wide span and rare types', { ...wide, types: rare }],
      ['after a cursor that is older than the span', { ...old, after: deep }],
      ['before its beginning', { until: midnight }],
      ['after its end', { since: timeOf(rowCount + 10) }],
    ])('%s, touches no more than it is long', async (_name, page) => {
      const { rows, pages, scans } = await read(page)
      const lists = page.types?.length ?? 1
      expect(rows, scans.join(', ')).toBeLessThanOrEqual(Math.min(lists, 4) * (first + 1) + 30)
      expect(pages, scans.join(', ')).toBeLessThanOrEqual(rows + 12 * (lists + 3))
    })

    test.each<[name: string, filter: Partial<LedgerFilter>, count: number]>([
      ['all', {}, rowCount],
      ['a type that most have', { types: ['fee'] }, rowCount - 40],
      ['rare types', { types: rare }, 40],
      ['an old span', old, 699],
      ['a wide span and a type', { ...wide, types: ['deposit'] }, 20],
      ['what comes after the end', { since: timeOf(rowCount + 10) }, 0],
    ])('the number of %s is read from few rows', async (_name, filter, expected) => {
      const counting = (counted: Database) => countLedger(counted, [long], { ...everything, ...filter })
      expect(await counting(database)).toMatchObject([{ vault: long, count: expected }])
      const { rows, pages, scans } = await explainReads(database, counting)
      expect(rows, scans.join(', ')).toBeLessThanOrEqual(2 * (tallyRows + 1) + 1)
      expect(pages, scans.join(', ')).toBeLessThanOrEqual(100)
    })

    test.each([1, 200])('%i rows by their keys touch no others', async (count) => {
      const keys = Array.from({ length: count }, (_, index) => {
        const { txHash, logIndex } = keyOf(index * 997)
        return { vault: long, txHash, logIndex }
      })
      const { rows, pages, scans } = await explainReads(database, (counted) => readLedgerRows(counted, keys))
      // Each row's vault is looked up, and one more row has the version.
      expect(rows, scans.join(', ')).toBe(2 * count + 1)
      expect(pages, scans.join(', ')).toBeLessThanOrEqual(10 * count + 20)
    })

    test('costs as much at the end as at the beginning', async () => {
      const [newest, oldest] = [await read({}), await read({ after: keyOf(150) })]
      // The rows of the block of the cursor are read too.
      expect(oldest.rows).toBeLessThanOrEqual(newest.rows + 8)
      expect(oldest.pages).toBeLessThanOrEqual(newest.pages + 20)
    })
  })
})

describe('a page of a ledger with thousands of rows in each of two blocks', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await createDatabase()
    await apply(database, [strategy('one'), opened(crowded, 'one')])
    await crowdLedger(database)
  })

  afterAll(() => database.close())

  test.each<[name: string, page: Partial<LedgerPage>, newest: number]>([
    ['the newest', {}, 2_999],
    ['of a type', { types: ['fee'], after: { block: 1, logIndex: 1_500, txHash: `0x${'00'.repeat(32)}` } }, 1_499],
    ['after a cursor', { after: { block: 0, logIndex: 700, txHash: `0x${'ff'.repeat(32)}` } }, 700],
  ])('%s, touches no more than it is long', async (_name, page, newest) => {
    const read = (counted: Database) => readLedger(counted, [crowded], { ...everything, ...page })
    const { rows, scans } = await explainReads(database, read)
    expect(rows, scans.join(', ')).toBeLessThanOrEqual(first + 10)
    const found = await read(database)
    expect(found.map(({ logIndex }) => logIndex)).toEqual(
      Array.from({ length: first + 1 }, (_, index) => newest - index),
    )
  })
})

test.each([null, ['fee'], ['fee', 'resume']] as (EventType[] | null)[])(
  'rows beyond the order of the indexes are in their places, page by page, of types %j',
  async (types) => {
    const database = await emptyDatabase()
    const beyond = 2 ** 42
    const keys: [number, number][] = [
      ...([
        [5, 1],
        [beyond - 2, 2_147_483_647],
        [beyond - 2, 2_097_151],
        [beyond - 1, 5],
        [beyond - 1, 3],
      ] as const),
      ...([
        [beyond, 7],
        [beyond + 1, 0],
        [beyond + 1, 2_097_152],
        [Number.MAX_SAFE_INTEGER, 2],
      ] as const),
    ].map(([block, logIndex]) => [block, logIndex])
    await apply(database, [
      strategy('one'),
      opened(long, 'one'),
      ...keys.map(([block, logIndex], at) => ({
        ...event(long, midnight + at, { type: 'fee', amountUsd: '1' }),
        block,
        logIndex,
      })),
    ])
    for (const first of [1, 2, 5]) {
      const found: LedgerRow[] = []
      for (let after: LedgerKey | null = null; ;) {
        const rows: LedgerRow[] = await readLedger(database, [long], { ...everything, types, first, after })
        found.push(...rows.slice(0, first))
        after = rows[first - 1] ?? null
        if (rows.length <= first || after === null) break
      }
      const expected = keys.toSorted(([a, x], [b, y]) => b - a || y - x)
      expect(found.map(({ block, logIndex }) => [block, logIndex])).toEqual(expected)
    }
  },
)

describe('the rows of a page', () => {
  let database: TestDatabase
  let recorded: Map<string, LedgerRow[]>

  /** Of the first vault blocks rise with time, of the second they don't. */
  const facts: FactInput[] = [long, disordered].flatMap((vault) =>
    Array.from({ length: 300 }, (_, index): FactInput => {
      const type = (['fee', 'resume', 'deposit'] as const)[((index * 7) % 11) % 3] as 'fee' | 'resume' | 'deposit'
      const ts = midnight + Math.floor(index / 4)
      const details =
        type === 'deposit'
          ? {
              type,
              amountUsd: '1',
              assets: [{ symbol: 'USDC', amount: '1' }],
              valueBeforeUsd: '0',
              prices: { USDC: '1' },
            }
          : type === 'fee'
            ? { type, amountUsd: '2' }
            : { type }
      const block = vault === long ? Math.floor(index / 5) : (index * 37) % 101
      return { ...event(vault, ts, details), ...keyOf(index), block } as FactInput
    }),
  )

  beforeAll(async () => {
    database = await createDatabase()
    const openings = [strategy('one'), opened(long, 'one'), opened(disordered, 'one')]
    expect(await apply(database, [...openings, ...facts])).toMatchObject({ rejected: {}, skipped: {} })
    recorded = new Map()
    for (const vault of [long, disordered]) {
      const all = await readLedger(database, [vault], { ...everything, first: 1_000 })
      expect(all).toHaveLength(300)
      recorded.set(vault, all)
    }
  })

  afterAll(() => database.close())

  const second = fc.integer({ min: -2, max: 80 }).map((seconds) => midnight + seconds)
  const page = fc.record({
    types: fc.option(fc.array(fc.constantFrom<EventType>('fee', 'resume', 'deposit', 'exit'), { maxLength: 4 })),
    since: second,
    until: second,
    first: fc.integer({ min: 1, max: 40 }),
    after: fc.option(fc.tuple(fc.integer({ min: -1, max: 102 }), fc.nat(3), fc.nat(300))),
  })

  test('are those that were recorded, of these types, in this span, after this row, newest first', async () => {
    await fc.assert(
      fc.asyncProperty(page, async ({ types, since, until, first, after }) => {
        const cursor = after && { block: after[0], logIndex: after[1], txHash: keyOf(after[2]).txHash }
        const matches = (row: LedgerRow): boolean =>
          (types === null || types.includes(row.type)) && row.ts >= since && row.ts < until
        const expected = [long, disordered].flatMap((vault) =>
          (recorded.get(vault) ?? [])
            .filter(matches)
            .filter((row) => cursor === null || compare(row, cursor) < 0)
            .slice(0, first + 1),
        )
        const read = await readLedger(database, [long, disordered], { types, since, until, first, after: cursor })
        expect(read).toEqual(expected)
        if (since > until) return
        const counts = await countLedger(database, [long, disordered], { types, since, until })
        const wanted = [long, disordered].map((vault) => (recorded.get(vault) ?? []).filter(matches).length)
        expect(counts.map(({ count }) => count)).toEqual(wanted)
      }),
      { numRuns: 300 },
    )
  })

  test('are each found by its key, and none by a key that no row has', async () => {
    const all = [...recorded.values()].flat()
    const keys = all.map(({ vaultAddress: vault, txHash, logIndex }) => ({ vault, txHash, logIndex }))
    const none = keys.map((key) => ({ ...key, logIndex: key.logIndex + 3 }))
    const found = await readLedgerRows(database, [...none, ...keys])
    expect(new Set(found)).toEqual(new Set(all))
    expect(await readLedgerRows(database, none)).toEqual([])
  })

  test('are returned with the version of their data, by key too, and where no key has a row', async () => {
    const versions: (string | null)[] = []
    const noting = readingBy(database, async (read, values, signal, reader) => {
      const found = await reader.read(read, values, signal)
      versions.push(found.version)
      return found
    })
    const { txHash, logIndex } = keyOf(1)
    await readLedger(noting, [long], everything)
    await readLedgerRows(noting, [{ vault: long, txHash, logIndex }])
    await readLedgerRows(noting, [{ vault: addressOf(3), txHash, logIndex }])
    expect(versions).toEqual(versions.map(() => versions[0]))
    expect(versions[0]).toMatch(/^\d+\.\w+$/)
  })

  test('are in the order of block, log index and hash, all descending', () => {
    for (const rows of recorded.values()) expect(rows).toEqual(rows.toSorted((one, other) => compare(other, one)))
  })

  test('are marked as in order or not', async () => {
    const kept = await dump(database)
    expect(kept['vault']?.map((vault) => /"ledger_in_order": (\w+)/.exec(vault)?.[1]).sort()).toEqual(['false', 'true'])
  })
})

function compare(one: LedgerKey, other: LedgerKey): number {
  if (one.block !== other.block) return one.block - other.block
  if (one.logIndex !== other.logIndex) return one.logIndex - other.logIndex
  return one.txHash < other.txHash ? -1 : one.txHash > other.txHash ? 1 : 0
}
