import pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/database/database.ts'
import { migrate } from '../../../src/database/prisma/migrations.ts'
import { openPostgreSql } from '../../../src/database/postgresql/database.ts'
import { openPostgreSqlWriter } from '../../../src/database/postgresql/writer.ts'
import { readFeedPosition } from '../../../src/database/write/feed.ts'
import { createOnServer, postgresUrl } from '../../support/database.ts'
import { apply, feedOf, midnight, strategy } from '../../support/world.ts'

describe.runIf(postgresUrl !== undefined)('a database with settings of its own', () => {
  const feed = feedOf([]).name
  let url: string
  let name: string

  const sql = async (text: string): Promise<pg.QueryResult> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return client.query(text).finally(() => client.end())
  }
  /** Opens the database, which is closed after the work. */
  const withDatabase = async (work: (database: Database) => Promise<void>): Promise<void> => {
    const database = await openPostgreSql(url, 2)
    await work(database).finally(() => database.close())
  }

  beforeEach(async () => {
    url = await createOnServer(postgresUrl ?? '')
    name = new URL(url).pathname.slice(1)
  })

  test('has its tables in the schema of its search path, also for the client of Prisma', async () => {
    await sql(`create schema "Vaults"; alter database ${name} set search_path = "Vaults", public`)
    await withDatabase(async (database) => {
      await migrate(database)
      await apply(database, [strategy('one', midnight)])
      expect(await readFeedPosition(database.prisma, feed)).toMatchObject({ line: 1 })
      expect(await database.prisma.strategy.count()).toBe(1)
    })
    const { rows } = await sql(`select distinct schemaname from pg_tables where tablename in ('feed', 'strategy')`)
    expect(rows).toEqual([{ schemaname: 'Vaults' }])
  })

  test('finds its tables, though its search path begins with a newer schema', async () => {
    await withDatabase(async (database) => {
      await migrate(database)
      await apply(database, [strategy('one', midnight)])
    })
    await sql(`create schema newer; alter database ${name} set search_path = newer, public`)
    await withDatabase(async (database) => {
      expect(await readFeedPosition(database.prisma, feed)).toMatchObject({ line: 1 })
    })
  })

  test('is read and written at the level of isolation and with the floats that statements rely on', async () => {
    const settings = { default_transaction_isolation: 'serializable', extra_float_digits: -10 }
    for (const [setting, value] of Object.entries(settings))
      await sql(`alter database ${name} set ${setting} = '${value}'`)
    const text = `select current_setting('transaction_isolation') as level, (0.1::float8 + 0.2::float8) as sum`
    const statement = { name: 'settings', text }
    const wanted = [{ level: 'read committed', sum: 0.1 + 0.2 }]
    await withDatabase(async (database) => {
      expect(await database.query(statement, [])).toEqual(wanted)
      expect(await database.transaction((transaction) => transaction.query(statement, []))).toEqual(wanted)
      expect(await database.prisma.$queryRawUnsafe(text)).toEqual(wanted)
    })
    const writer = openPostgreSqlWriter(url)
    expect(await writer.transaction((transaction) => transaction.query(statement, []))).toEqual(wanted)
    await writer.close()
  })

  test('is refused where its encoding lacks characters, with the reason', async () => {
    const latin = await createOnServer(postgresUrl ?? '', `template0 encoding 'LATIN1' locale 'C'`)
    const opening = openPostgreSql(latin, 2)
    // Otherwise the database is closed.
    opening.then(
      (opened) => opened.close(),
      () => undefined,
    )
    await expect(opening).rejects.toThrow(/the encoding of the database is LATIN1, and not UTF8/)
  })
})
