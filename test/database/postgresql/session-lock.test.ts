import pg from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { lockSession, migrationLock, startLock } from '../../../src/database/postgresql/session-lock.ts'
import { openPostgreSql } from '../../../src/database/postgresql/database.ts'
import { DatabaseRefused, ReadCancelled } from '../../../src/database/errors.ts'
import { createOnServer, postgresUrl } from '../../support/database.ts'
import { proxyTo } from '../../support/proxy.ts'

const { key } = migrationLock
let clients: pg.Client[] = []

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  clients.push(client)
  return client
}

afterEach(async () => {
  await Promise.all(clients.map((client) => client.end()))
  clients = []
})

describe.runIf(postgresUrl !== undefined)('the lock of the session that migrates', () => {
  test('is waited for up to the time limit, and the error names its holder and the remedy', async () => {
    const url = await createOnServer(postgresUrl ?? '')
    const [holder, waiter] = [await connect(url), await connect(url)]
    const run = (sql: string) => waiter.query(sql)
    await holder.query(`select pg_advisory_lock(${key})`)
    const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid')
    const refused = lockSession(run, migrationLock, 1)
    await expect(refused).rejects.toBeInstanceOf(DatabaseRefused)
    await expect(refused).rejects.toThrow(
      new RegExp(
        `has not ended in 1 s: process ${rows[0]?.pid} of the server, idle since \\d{4}-.* UTC.*` +
          `Start again when they are done.*SELECT pg_terminate_backend\\(${rows[0]?.pid}\\)`,
      ),
    )
  })

  test('is taken once its holder has ended, and other locks have no limit then', async () => {
    const url = await createOnServer(postgresUrl ?? '')
    const [holder, waiter] = [await connect(url), await connect(url)]
    await holder.query(`select pg_advisory_lock(${key})`)
    const taken = lockSession((sql) => waiter.query(sql), migrationLock, 60)
    await holder.query(`select pg_advisory_unlock(${key})`)
    await taken
    expect((await waiter.query('show lock_timeout')).rows).toEqual([{ lock_timeout: '0' }])
  })

  test('of a start is waited for up to the time limit, and its holder is reported at once', async () => {
    const url = await createOnServer(postgresUrl ?? '')
    const [holder, waiter] = [await connect(url), await connect(url)]
    await holder.query(`select pg_advisory_lock(${startLock.key})`)
    const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid')
    const waits: string[] = []
    const refused = lockSession(
      (sql) => waiter.query(sql),
      startLock,
      1,
      (who) => waits.push(who),
    )
    await expect(refused).rejects.toThrow(
      new RegExp(
        `^Another process, which migrates this database or fills it, has not ended in 1 s: process ${rows[0]?.pid} of .*` +
          `for a client at .*SELECT pg_terminate_backend\\(${rows[0]?.pid}\\), and start again`,
      ),
    )
    expect(waits).toEqual([expect.stringMatching(new RegExp(`^process ${rows[0]?.pid} of the server, idle since`))])
  })

  test('of a start is not waited for any more once the start is cancelled', async () => {
    const url = await createOnServer(postgresUrl ?? '')
    const holder = await connect(url)
    await holder.query(`select pg_advisory_lock(${startLock.key})`)
    const stopping = new AbortController()
    const database = await openPostgreSql(url, 2, () => stopping.abort())
    const work = (): Promise<never> => Promise.reject(new Error('was begun'))
    await expect(database.exclusively(work, stopping.signal)).rejects.toBeInstanceOf(ReadCancelled)
    await database.close()
  })

  test('of a start is no longer waited for where the server stops responding', async () => {
    const proxy = await proxyTo(await createOnServer(postgresUrl ?? ''))
    const database = await openPostgreSql(proxy.url, 2)
    await database.exclusively(() => Promise.resolve(proxy.stall()))
    await proxy.open()
    await database.close()
    await proxy.close()
  })

  test('is kept by a connection whose script has failed, and the script reports its own error', async () => {
    const database = await openPostgreSql(await createOnServer(postgresUrl ?? ''), 2)
    await database.withEngineAdapter(async (adapter) => {
      const connection = await adapter.connect()
      await expect(connection.executeScript('select nothing')).rejects.toMatchObject({ code: '42703' })
      await connection.executeScript('create table afterwards ()')
      const locks = `select count(*)::integer as count from pg_locks where locktype = 'advisory' and granted
        and (classid::bigint << 32) + objid::bigint = ${migrationLock.key}
        and database = (select oid from pg_database where datname = current_database())`
      expect(await database.query({ name: 'locks', text: locks }, [])).toEqual([{ count: 1 }])
      await connection.dispose()
    })
    await database.close()
  })

  test('is not lost without an error: migrations run on its connection alone', async () => {
    const url = await createOnServer(postgresUrl ?? '')
    const proxy = await proxyTo(url)
    const database = await openPostgreSql(proxy.url, 2)
    const outcomes: PromiseSettledResult<void>[] = []
    const migrating = database.withEngineAdapter(async (adapter) => {
      const connection = await adapter.connect()
      proxy.cut()
      // The first one may find out that the connection was cut.
      for (const name of ['first', 'second']) {
        outcomes.push(...(await Promise.allSettled([connection.executeScript(`create table ${name} ()`)])))
      }
      await connection.dispose()
    })
    await migrating
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(outcomes[1]).toMatchObject({ reason: { message: 'The connection of the migrations was lost.' } })
    const client = await connect(url)
    expect((await client.query(`select to_regclass('second')::text as second`)).rows).toEqual([{ second: null }])
    await database.close()
    await proxy.close()
  })
})
