import pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/database/database.ts'
import { openPostgreSql } from '../../../src/database/postgresql/database.ts'
import { createOnServer, postgresUrl, runScript } from '../../support/database.ts'

const timeouts = ['statement_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout']

describe.runIf(postgresUrl !== undefined)('a database that limits the time of sessions', () => {
  let database: Database
  let admin: pg.Client

  beforeEach(async () => {
    const url = await createOnServer(postgresUrl ?? '')
    admin = new pg.Client({ connectionString: url })
    await admin.connect()
    const name = new URL(url).pathname.slice(1)
    for (const timeout of timeouts) await admin.query(`alter database ${name} set ${timeout} = '1500ms'`)
    database = await openPostgreSql(url, 2)
    return async () => {
      await database.close()
      await admin.end()
    }
  })

  test('runs a migration that takes longer', async () => {
    await runScript(database, 'select pg_sleep(2); create table made ()')
    expect(await database.query({ name: 'made', text: `select to_regclass('made')::text as made` }, [])).toEqual([
      { made: 'made' },
    ])
  })

  test('keeps the lock of a process that works longer', async () => {
    const holders = `select from pg_locks where locktype = 'advisory' and granted
      and database = (select oid from pg_database where datname = current_database())`
    await database.exclusively(async () => {
      // Longer than the time limit of idle sessions.
      await admin.query(`set statement_timeout = 0; select pg_sleep(2)`)
      expect((await admin.query(holders)).rowCount).toBe(1)
    })
  })
})
