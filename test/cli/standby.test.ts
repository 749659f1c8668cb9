import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open.ts'
import { openPostgreSql } from '../../src/database/postgresql/database.ts'
import { DatabaseReadOnly, DatabaseUnavailable } from '../../src/database/errors.ts'
import { readFeedPosition, saveFeedPosition } from '../../src/database/write/feed.ts'
import { createOnServer, postgresUrl } from '../support/database.ts'
import { prepareHomes } from '../support/home.ts'
import { noOwnPostgreSql, type OwnPostgreSql, startOwnPostgreSql } from '../support/own-postgresql.ts'
import { commandLine } from '../support/process.ts'

const position = { line: 1, byte: 1, fingerprint: 'f' }
const { start, run } = commandLine()

describe.skipIf(postgresUrl === undefined || noOwnPostgreSql !== null)('a standby', () => {
  let primary: OwnPostgreSql
  let standby: OwnPostgreSql
  /** Databases on the standby: with all migrations and no rows, and an empty one. */
  let migrated: string
  let empty: string

  const onStandby = (url: string): string =>
    Object.assign(new URL(standby.url), { pathname: new URL(url).pathname }).href
  const sql = async (url: string, ...statements: string[]): Promise<pg.QueryResult> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    let last: pg.QueryResult | undefined
    for (const each of statements) last = await client.query(each)
    await client.end()
    return last as pg.QueryResult
  }
  const reached = async (url: string, text: string): Promise<void> => {
    while (
      !(await sql(url, text).then(
        ({ rowCount }) => rowCount === 1,
        () => false,
      ))
    );
  }

  beforeAll(async () => {
    primary = await startOwnPostgreSql()
    const url = await createOnServer(primary.url)
    await (await openDatabase({ engine: 'postgresql', url, connections: 2 })).close()
    await sql(url, 'create table rows as select * from generate_series(1, 100) as n')
    standby = await primary.standby()
    await sql(standby.url, 'alter system set max_standby_streaming_delay = 0', 'select pg_reload_conf()')
    migrated = onStandby(url)
    empty = onStandby(await createOnServer(primary.url))
    await reached(empty, 'select 1')
  }, 120_000)
  afterAll(async () => {
    await standby.remove()
    await primary.remove()
  })

  test.each(['ingest', 'serve'])('without the migrations ends %s with a remedy', async (command) => {
    const args = command === 'ingest' ? ['ingest', '-'] : ['serve']
    const { status, stderr } = await run(args, { DATABASE_URL: empty, PORT: '0' })
    expect(status).toBe(1)
    expect(stderr).toMatch(/^The database "\w+" lacks migrations of this version and is a standby: .*DATABASE_URL.*\n$/)
  })

  test('with all migrations is served, and not written to', async () => {
    const gateway = start(['serve'], { DATABASE_URL: migrated, PORT: '0', LOG_LEVEL: 'error' })
    const [, port] = await gateway.says(/localhost:(\d+)\/graphql/)
    expect(await (await fetch(`http://localhost:${port ?? ''}/strategies`)).json()).toEqual([])
    gateway.kill('SIGTERM')
    expect(await gateway.ended).toMatchObject({ status: 0 })
  })

  /** Starts a read that the standby cancels when it replays the removal of rows that are visible to it. */
  const slowRead = (database: Database) =>
    database.query<{ count: number }>(
      { name: 'slow', text: 'select count(*)::int as count from rows, (select pg_sleep(2)) as slept' },
      [],
    )
  const vacuum = (): Promise<unknown> =>
    sql(primary.url.replace(/\/postgres$/, new URL(migrated).pathname), 'update rows set n = n', 'vacuum rows')
  const conflicts = async (): Promise<number> => {
    const text = `select confl_snapshot::int as count from pg_stat_database_conflicts where datname = current_database()`
    return ((await sql(migrated, text)).rows[0] as { count: number }).count
  }
  const running = (): Promise<void> =>
    reached(migrated, `select 1 from pg_stat_activity where wait_event = 'PgSleep' limit 1`)

  test('whose replay cancels a read is read again', async () => {
    const database = await openPostgreSql(migrated, 2)
    const before = await conflicts()
    const read = slowRead(database)
    await running()
    await vacuum()
    expect(await read).toEqual([{ count: 100 }])
    expect(await conflicts()).toBeGreaterThan(before)
    await database.close()
  }, 60_000)

  test('whose replay cancels the retry is unavailable', async () => {
    const database = await openPostgreSql(migrated, 2)
    const read = slowRead(database).then(
      () => 'read',
      (error: unknown) => error,
    )
    const state = { isOver: false }
    void read.then(() => (state.isOver = true))
    while (!state.isOver) await vacuum()
    expect(await read).toBeInstanceOf(DatabaseUnavailable)
    await database.close()
  }, 60_000)

  test('refuses writes, which counts as an outage, until it is promoted', async () => {
    const database = await openPostgreSql(migrated, 2)
    const write = () =>
      database.transaction((transaction) => {
        saveFeedPosition(transaction, 'a', null, position)
        return Promise.resolve()
      })
    await expect(write()).rejects.toBeInstanceOf(DatabaseReadOnly)
    await expect(database.prisma.feed.deleteMany()).rejects.toBeInstanceOf(DatabaseReadOnly)
    await standby.promote()
    await write()
    expect(await readFeedPosition(database.prisma, 'a')).toEqual(position)
    await database.close()
  })
})

describe('a gateway whose start banner fails', () => {
  const homes = prepareHomes()

  test('exits with the reason, and does not listen', async () => {
    const home = await homes.create()
    const database = await home.open()
    await database.prisma.$executeRawUnsafe('alter table vault rename column value_usd to value_in_usd')
    await database.close()
    const { status, stderr } = await run(['serve'], { ...home.env, PORT: '0', DEMO: '0', LOG_LEVEL: 'error' })
    expect(status).toBe(1)
    expect(stderr).toContain('value_usd')
  })
})
