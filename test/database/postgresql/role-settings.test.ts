import pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/database/database.ts'
import { migrate } from '../../../src/database/prisma/migrations.ts'
import { openPostgreSql } from '../../../src/database/postgresql/database.ts'
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

  test('has its tables where they are, though its search path begins with a newer schema', async () => {
    await withDatabase(async (database) => {
      await migrate(database)
      await apply(database, [strategy('one', midnight)])
    })
    await sql(`create schema newer; alter database ${name} set search_path = newer, public`)
    await withDatabase(async (database) => {
      expect(await readFeedPosition(database.prisma, feed)).toMatchObject({ line: 1 })
    })
  })
})
