import pg from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { lockSession } from '../../../src/database/postgresql/session-lock.ts'
import { DatabaseRefused } from '../../../src/database/errors.ts'
import { createOnServer, postgresUrl } from '../../support/database.ts'

const key = 7_261_190_412
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
  test('is waited for as long as is allowed, and the refusal names its holder and the remedy', async () => {
    const url = await createOnServer(postgresUrl ?? '')
    const [holder, waiter] = [await connect(url), await connect(url)]
    const run = (sql: string) => waiter.query(sql)
    await holder.query(`select pg_advisory_lock(${key})`)
    const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid')
    const refused = lockSession(run, key, 1)
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
    const taken = lockSession((sql) => waiter.query(sql), key, 60)
    await holder.query(`select pg_advisory_unlock(${key})`)
    await taken
    expect((await waiter.query('show lock_timeout')).rows).toEqual([{ lock_timeout: '0' }])
  })
})
