import { setMaxListeners } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ReadCancelled } from '../../src/database/errors.ts'
import type { Database } from '../../src/database/database.ts'
import { openPostgreSql } from '../../src/database/postgresql/database.ts'
import { DatabaseUnavailable } from '../../src/database/errors.ts'
import { createOnServer, emptyDatabase, postgresUrl } from '../support/database.ts'

const one = { name: 'one', text: 'select 1 as one' }
const slow = { name: 'slow', text: 'select pg_sleep(20)' }
const running = {
  name: 'running',
  text: `select count(*)::integer as count from pg_stat_activity
    where datname = current_database() and state = 'active' and query = '${slow.text}'`,
}

test('a read that is cancelled before its start is not sent', async () => {
  const database = await emptyDatabase()
  const gone = AbortSignal.abort(new Error('the client has gone'))
  await expect(database.query(one, [], gone)).rejects.toBeInstanceOf(ReadCancelled)
})

test('a read with a signal that is not aborted succeeds', async () => {
  const database = await emptyDatabase()
  expect(await database.query(one, [], new AbortController().signal)).toEqual([{ one: 1 }])
})

test('cancelled reads in a queue do not block others', async () => {
  const database = await emptyDatabase()
  const gone = new AbortController()
  setMaxListeners(0, gone.signal)
  const first = database.query(one, [])
  const results = Array.from({ length: 20 }, () =>
    database.query(one, [], gone.signal).catch((error: unknown) => error),
  )
  const last = database.query(one, [])
  gone.abort()
  for (const read of await Promise.all(results)) expect(read).toBeInstanceOf(ReadCancelled)
  expect(await Promise.all([first, last])).toEqual([[{ one: 1 }], [{ one: 1 }]])
})

describe.runIf(postgresUrl !== undefined)('on PostgreSQL', () => {
  let database: Database

  beforeAll(async () => {
    // Two connections for short reads, one for long ones.
    database = await openPostgreSql(await createOnServer(postgresUrl as string), 3)
  })
  afterAll(() => database.close())

  async function countRunning(): Promise<number> {
    const [row] = await database.query<{ count: number }>(running, [])
    return row?.count ?? Number.NaN
  }

  test('a cancelled read rejects at once, and is stopped on the server', async () => {
    const gone = new AbortController()
    const read = database.query(slow, [], gone.signal).catch((error: unknown) => error)
    await expect.poll(countRunning).toBe(1)
    gone.abort()
    expect(await read).toBeInstanceOf(ReadCancelled)
    await expect.poll(countRunning).toBe(0)
  })

  test('a hundred cancelled reads release their connections', async () => {
    const gone = new AbortController()
    setMaxListeners(0, gone.signal)
    const reads = Array.from({ length: 100 }, () => database.query(slow, [], gone.signal).catch(() => 'given up'))
    await wait(50)
    gone.abort()
    expect(new Set(await Promise.all(reads))).toEqual(new Set(['given up']))
    expect(await database.query(one, [])).toEqual([{ one: 1 }])
  })

  test('a connection that the server closes fails its read as unavailable, and the next read uses another', async () => {
    const read = database.query(slow, []).catch((error: unknown) => error)
    await expect.poll(countRunning).toBe(1)
    const kill = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and state = 'active' and query = '${slow.text}'`
    await database.query({ name: 'kill', text: kill }, [])
    expect(await read).toBeInstanceOf(DatabaseUnavailable)
    expect(await database.query(one, [])).toEqual([{ one: 1 }])
  })

  test('an error of the statement itself is thrown unchanged', async () => {
    await expect(database.query({ name: 'fault', text: 'select 1 / 0' }, [])).rejects.toMatchObject({ code: '22012' })
  })
})
