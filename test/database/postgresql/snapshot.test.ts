import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ReadCancelled } from '../../../src/database/errors.ts'
import type { Read, Snapshots } from '../../../src/database/database.ts'
import { pooledSnapshots } from '../../../src/database/postgresql/reads/pooled-snapshots.ts'
import { DatabaseUnavailable } from '../../../src/database/errors.ts'
import { createOnServer, emptyDatabase, postgresUrl, type TestDatabase } from '../../support/database.ts'
import { apply, strategy } from '../../support/world.ts'

const of = (name: string, text: string): Read => ({ name, text, dependsOn: 'universe' })
const count = of(
  'count',
  `select count(*)::integer as count, (select version from data_head) as "dataVersion" from strategy`,
)
const fault = of('fault', 'select 1 / 0')

describe('a snapshot', () => {
  let database: TestDatabase
  beforeEach(async () => {
    database = await emptyDatabase()
    await apply(database, [strategy('one')])
  })

  test('sees one committed state, despite later commits', async () => {
    let committed: Promise<unknown> = Promise.resolve()
    const found = await database.snapshot(async (reader) => {
      const before = await reader.read<{ count: number }>(count, [])
      committed = apply(database, [strategy('two')])
      // The embedded database commits after the snapshot's end.
      if (database.engine === 'postgresql') await committed
      return [before, await reader.read<{ count: number }>(count, [])]
    })
    await committed
    expect(found.map(({ rows }) => rows[0]?.count)).toEqual([1, 1])
    expect(found.map(({ version }) => version)).toEqual([found[0]?.version, found[0]?.version])
    expect(found[0]?.version).toMatch(/^1\.\d+$/)
    const after = await database.read<{ count: number }>(count, [])
    expect(after).toMatchObject({ rows: [{ count: 2 }], version: expect.stringMatching(/^2\.\d+$/) as string })
  })

  test.runIf(postgresUrl !== undefined)('writes nothing', async () => {
    const write = of(
      'write',
      `insert into data_head (seq, version) values (7, '7.x') on conflict (id) do nothing returning seq`,
    )
    await expect(database.snapshot((reader) => reader.read(write, []))).rejects.toMatchObject({ code: '25006' })
  })

  test('fails all of its reads with the first error, without effect on others', async () => {
    const errors = await database.snapshot(async (reader) => {
      const failed = (work: Promise<unknown>): Promise<unknown> =>
        work.then(
          () => 'rows',
          (error: unknown) => error,
        )
      return Promise.all(
        [fault, count].map((read) => failed(reader.read(read, []))).concat(failed(reader.read(fault, []))),
      )
    })
    expect(errors[0]).toMatchObject({ code: '22012' })
    expect(errors.slice(1)).toEqual([errors[0], errors[0]])
    expect(await database.snapshot((reader) => reader.read(count, []))).toMatchObject({ rows: [{ count: 1 }] })
  })

  test('rejects with the error of its work, and rejects reads after its end', async () => {
    let leaked: Promise<unknown> = Promise.resolve()
    const work = database.snapshot((reader) => {
      leaked = Promise.resolve().then(() => reader.read(count, []))
      leaked.catch(() => undefined)
      return Promise.reject(new Error('of the work'))
    })
    await expect(work).rejects.toThrow('of the work')
    const late = await database.snapshot((reader) => Promise.resolve(reader))
    await expect(late.read(count, [])).rejects.toBeInstanceOf(ReadCancelled)
    expect(await database.query(count, [])).toMatchObject([{ count: 1 }])
  })

  test('does not start when cancelled before, and ends when cancelled during its work', async () => {
    const gone = AbortSignal.abort()
    await expect(database.snapshot(() => Promise.reject(new Error('was begun')), gone)).rejects.toBeInstanceOf(
      ReadCancelled,
    )
    const leaving = new AbortController()
    const hung = database.snapshot(async (reader) => {
      await reader.read(count, [])
      leaving.abort()
      await new Promise(() => undefined)
    }, leaving.signal)
    await expect(hung).rejects.toBeInstanceOf(ReadCancelled)
    await apply(database, [strategy('two')])
    expect(await database.query(count, [])).toMatchObject([{ count: 2 }])
  })

  test('waits where there are more snapshots than connections', async () => {
    const all = Array.from({ length: 40 }, () =>
      database.snapshot((reader) => reader.read<{ count: number }>(count, [])),
    )
    const others = Array.from({ length: 40 }, () => database.read<{ count: number }>(count, []))
    for (const { rows } of await Promise.all([...all, ...others])) expect(rows[0]?.count).toBe(1)
  })
})

describe.runIf(postgresUrl !== undefined)('a snapshot on a connection of a pool', () => {
  let admin: pg.Client
  let url: string
  let pool: pg.Pool
  let snapshots: Snapshots
  const slow = of('slow', 'select pg_sleep(600)')
  const pid = of('pid', 'select pg_backend_pid() as pid')

  beforeAll(async () => {
    url = await createOnServer(postgresUrl as string)
    admin = new pg.Client({ connectionString: url })
    await admin.connect()
  })
  afterAll(() => admin.end())
  beforeEach(() => {
    pool = new pg.Pool({ connectionString: url, max: 1, pipeline: true })
    pool.on('connect', (client) => void client.on('error', () => undefined)).on('error', () => undefined)
    snapshots = snapshotsOf(pool)
  })
  afterEach(() => pool.end())

  const states = async (): Promise<string[]> => {
    const { rows } = await admin.query<{ state: string }>(
      'select state from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    return rows.map(({ state }) => state)
  }
  const patient = { timeout: 30_000 }

  test('releases it outside of the transaction', async () => {
    await snapshots.snapshot((reader) => reader.read(pid, []))
    await expect.poll(states, patient).toEqual(['idle'])
    expect(pool.idleCount).toBe(1)
  })

  test('stops a cancelled read, and the next one has another connection', async () => {
    const leaving = new AbortController()
    const result = snapshots
      .snapshot((reader) => reader.read(slow, []), leaving.signal)
      .catch((error: unknown) => error)
    await expect.poll(states, patient).toEqual(['active'])
    leaving.abort()
    expect(await result).toBeInstanceOf(ReadCancelled)
    expect((await snapshots.snapshot((reader) => reader.read(pid, []))).rows).toHaveLength(1)
    await expect.poll(states, patient).toEqual(['idle'])
  })

  test('waits for a free connection until it is cancelled', async () => {
    let end: () => void = () => undefined
    const first = snapshots.snapshot(async (reader) => {
      await reader.read(pid, [])
      await new Promise<void>((resolve) => (end = resolve))
    })
    await expect.poll(states, patient).toEqual(['idle in transaction'])
    const leaving = new AbortController()
    const second = snapshots.snapshot((reader) => reader.read(pid, []), leaving.signal).catch((error: unknown) => error)
    const third = snapshots.snapshot((reader) => reader.read<{ pid: number }>(pid, []))
    leaving.abort()
    expect(await second).toBeInstanceOf(ReadCancelled)
    end()
    await first
    expect((await third).rows).toHaveLength(1)
  })

  test('reports the database as unavailable where its connection ends', async () => {
    const result = snapshots.snapshot(async (reader) => {
      const [{ pid: own } = { pid: 0 }] = (await reader.read<{ pid: number }>(pid, [])).rows
      await admin.query('select pg_terminate_backend($1)', [own])
      await expect.poll(states, patient).toEqual([])
      return reader.read(pid, [])
    })
    await expect(result).rejects.toBeInstanceOf(DatabaseUnavailable)
    expect((await snapshots.snapshot((reader) => reader.read(pid, []))).rows).toHaveLength(1)
  })

  test('reports the database as unavailable where no connection can be opened', async () => {
    const nowhere = new pg.Pool({ connectionString: 'postgres://postgres@127.0.0.1:1/postgres', max: 1 })
    const result = snapshotsOf(nowhere).snapshot((reader) => reader.read(pid, []))
    await expect(result).rejects.toBeInstanceOf(DatabaseUnavailable)
    expect(await snapshotsOf(nowhere).snapshot(() => Promise.resolve('no read'))).toBe('no read')
    await nowhere.end()
  })

  test('is ended by the server where it is idle', async () => {
    const impatient = new pg.Pool({
      connectionString: url,
      max: 1,
      pipeline: true,
      idle_in_transaction_session_timeout: 50,
    })
    impatient.on('connect', (client) => void client.on('error', () => undefined)).on('error', () => undefined)
    const result = snapshotsOf(impatient).snapshot(async (reader) => {
      await reader.read(pid, [])
      await expect.poll(states, patient).toEqual([])
      return reader.read(pid, [])
    })
    await expect(result).rejects.toBeInstanceOf(DatabaseUnavailable)
    await impatient.end()
  })
})

function snapshotsOf(short: pg.Pool): Snapshots {
  return pooledSnapshots({ short, long: short })
}
