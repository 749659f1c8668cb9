import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/database/database.ts'
import { readVersionAt } from '../../../src/database/read/commit-log.ts'
import { migrate } from '../../../src/database/prisma/migrations.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { createWithoutTables, emptyDatabase } from '../../support/database.ts'
import { type Dump, dumpReadModel } from '../../support/dump.ts'
import { everything, vaultThatIs } from '../../support/everything.ts'
import { gatewayOn } from '../../support/gateway.ts'
import {
  fillTables,
  migrateUpTo,
  migrationNames,
  readTables,
  type TableRows,
  withoutHistory,
} from '../../support/older-database.ts'
import { addressOf, apply, deposit, event, mark, midnight, opened, position, strategy } from '../../support/world.ts'

/** A vault with enough points for a page of buckets, and one whose blocks go back. */
const long = addressOf(11)
const backwards = addressOf(12)
const later = midnight + 40 * 86_400

const marks = (from: number, count: number): FactInput[] =>
  Array.from({ length: count }, (_, index) => {
    const ts = midnight + 60 * (from + index)
    return mark(long, ts, (1_000 + ((index * 7) % 31)).toFixed(2), { positions: [position('wave')] })
  })

const factsBefore: readonly FactInput[] = [
  ...everything,
  opened(long, 'seasoned'),
  deposit(long, midnight, '1000'),
  ...marks(1, 330),
  opened(backwards, 'fresh'),
  { ...deposit(backwards, midnight, '10'), block: 9 } as FactInput,
  // Enough for spans.
  ...Array.from({ length: 1_300 }, (_, index): FactInput => {
    return { ...event(backwards, midnight + 1 + index, { type: 'fee', amountUsd: '1' }), block: 3 + index } as FactInput
  }),
]
const after: readonly FactInput[] = [
  ...marks(331, 260),
  strategy('third', later),
  opened(addressOf(13), 'third', later),
  ...Object.values({ ...vaultThatIs, backwards }).map((vault) => deposit(vault, later, '5', '5')),
]

const names = await migrationNames()

/** Returns all responses about the vaults. */
async function served(database: Database): Promise<unknown[]> {
  const gateway = gatewayOn(database)
  const vaults = [...Object.values(vaultThatIs), long, backwards]
  const paths = vaults.flatMap((vault) =>
    ['snapshot', 'equity?points=50', 'events'].map((path) => `/vault/${vault}/${path}`),
  )
  return Promise.all(
    ['/strategies', '/universe', ...paths].map(async (path) => (await gateway.get(path)).json() as unknown),
  )
}

describe('a database of an older version', () => {
  let rows: TableRows
  const expected: { dump: Dump; served: unknown[]; dumpAfter: Dump; servedAfter: unknown[] }[] = []
  let database: Database

  beforeAll(async () => {
    const whole = await emptyDatabase()
    await apply(whole, factsBefore)
    rows = await readTables(whole)
    const half = { dump: await dumpReadModel(whole), served: await served(whole) }
    await apply(whole, after)
    expected.push({ ...half, dumpAfter: await dumpReadModel(whole), servedAfter: await served(whole) })
  })
  beforeEach(async () => {
    database = await createWithoutTables()
  })
  afterEach(() => database.close())

  test('has rows in all tables and columns that the migrations derive', () => {
    const [{ dump } = { dump: {} as Dump }] = expected
    for (const [table, found] of Object.entries(dump)) expect(found, table).not.toEqual([])
    expect(names.length).toBeGreaterThan(5)
  })

  /** @param from the newest migration that the database had */
  async function becomesWhole(from: string): Promise<void> {
    const [wanted] = expected
    expect(withoutHistory(await dumpReadModel(database))).toEqual(withoutHistory(wanted?.dump ?? {}))
    expect(await served(database)).toEqual(wanted?.served)
    // The migration to the commit log makes the first version.
    if (!from.endsWith('_commit_log')) expect(await readVersionAt(database, 1)).toMatch(/^1\.\d+$/)
    await apply(database, after)
    expect(withoutHistory(await dumpReadModel(database))).toEqual(withoutHistory(wanted?.dumpAfter ?? {}))
    expect(await served(database)).toEqual(wanted?.servedAfter)
  }

  test.each(names.slice(0, -1))('with the migrations up to %s is migrated, served, and continued', async (name) => {
    await migrateUpTo(database, name)
    await fillTables(database, rows)
    expect(await migrate(database)).toEqual(names.filter((other) => other > name))
    await becomesWhole(name)
  })

  test('without a fee summary in its marks gets a derived one', async () => {
    const before = names[names.findIndex((name) => name.endsWith('_owners_and_fees')) - 1] ?? ''
    await migrateUpTo(database, before)
    await fillTables(database, rows)
    const vaults = JSON.parse(rows.get('vault') ?? '[]') as { address: string; fees_told: boolean }[]
    const untold = vaults.filter((vault) => !vault.fees_told).map(({ address }) => address)
    expect(untold.length).toBeGreaterThan(1)
    await database.prisma.$executeRawUnsafe(
      `update vault set fees_contributed_usd = 0, fees_withdrawn_usd = 0, fees_taxed_usd = 0, fees_high_water_usd = 0
        where address = any($1)`,
      untold,
    )
    await migrate(database)
    await becomesWhole(before)
  })

  test.each([names.at(1) ?? '', names.at(-1) ?? ''])(
    'whose migration %s was begun, and not finished, is migrated',
    async (name) => {
      const before = names[names.indexOf(name) - 1] ?? ''
      await migrateUpTo(database, before)
      await fillTables(database, rows)
      // Like the schema engine, which records a migration before its script, which is one transaction.
      await database.prisma.$executeRawUnsafe(
        `insert into _prisma_migrations (id, checksum, migration_name, started_at) values ('interrupted', 'any', $1, now())`,
        name,
      )
      expect(await migrate(database)).toEqual(names.filter((other) => other >= name))
      expect(await migrate(database)).toEqual([])
      await becomesWhole(before)
    },
  )
})
