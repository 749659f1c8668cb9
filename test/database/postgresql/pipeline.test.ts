import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ReadCancelled } from '../../../src/database/errors.ts'
import type { Reader } from '../../../src/database/database.ts'
import { pooledReader } from '../../../src/database/postgresql/reads/pooled-reads.ts'
import { DatabaseUnavailable } from '../../../src/database/errors.ts'
import { withQuery } from '../../../src/database/read-path.ts'
import { createOnServer, postgresUrl } from '../../support/database.ts'
import { proxyTo } from '../../support/proxy.ts'

const of = (name: string, text: string) => ({
  name,
  text,
  dependsOn: 'universe' as const,
})
const one = of('one', 'select 1 as one')
const pid = of('pid', 'select pg_backend_pid() as pid, pg_sleep(0.02)')
const slow = of('slow', 'select pg_sleep(20)')
const short = of('short', 'select 2 as two, pg_sleep(0.4)')

describe.runIf(postgresUrl !== undefined)('pipelined reads', () => {
  let url: string
  let admin: pg.Client
  let pools: pg.Pool[]
  let reader: Reader
  let pooled: ReturnType<typeof pooledReader>
  let pipelined: Reader

  beforeAll(async () => {
    url = await createOnServer(postgresUrl as string)
    admin = new pg.Client({ connectionString: url })
    await admin.connect()
  })
  beforeEach(() => {
    pools = [
      new pg.Pool({ connectionString: url, max: 2, pipeline: true }),
      new pg.Pool({ connectionString: url, max: 1, pipeline: true }),
    ]
    for (const pool of pools) pool.on('connect', (client) => void client.on('error', () => undefined))
    const [short, long] = pools as [pg.Pool, pg.Pool]
    pooled = pooledReader({ short, long })
    reader = withQuery(pooled)
    pipelined = withQuery(pooled.pipelined())
  })
  afterEach(() => Promise.all(pools.map((pool) => pool.end())))
  afterAll(() => admin.end())

  /** Requests that are not cancelled. */
  const stays = new AbortController().signal
  const pidsOf = async (reads: Promise<{ pid: number }[]>[]): Promise<Set<number | undefined>> =>
    new Set((await Promise.all(reads)).map(([row]) => row?.pid))
  const countSlow = async (): Promise<number> => {
    const { rows } = await admin.query<{ count: number }>(
      `select count(*)::integer as count from pg_stat_activity where datname = current_database() and state = 'active' and query = $1`,
      [slow.text],
    )
    return rows[0]?.count ?? NaN
  }

  test('share one connection, where other reads have one each', async () => {
    expect(await pidsOf([1, 2, 3].map(() => pipelined.query<{ pid: number }>(pid, [])))).toHaveLength(1)
    expect(await pidsOf([1, 2].map(() => reader.query<{ pid: number }>(pid, [])))).toHaveLength(2)
  })

  test('use connections that are reserved for short reads', async () => {
    const gone = new AbortController()
    const waiting = Array.from({ length: 5 }, () => reader.query({ ...slow, isLong: true }, [], gone.signal))
    const result = Promise.allSettled(waiting)
    await expect.poll(countSlow).toBe(1)
    expect(await Promise.all([1, 2, 3].map(() => reader.query(one, [])))).toEqual(Array(3).fill([{ one: 1 }]))
    gone.abort()
    expect((await result).map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
    await expect.poll(countSlow).toBe(0)
  })

  test('release the connection when no read runs', async () => {
    await Promise.all([pipelined.query(one, []), pipelined.query(one, [])])
    await expect.poll(() => pools[0]?.idleCount).toBe(1)
  })

  test('release the connection for other reads that wait, under any load', async () => {
    const others = [pooled.pipelined(), pooled.pipelined()]
    let isOver = false
    const busy = others.flatMap((other) =>
      [1, 2, 3].map(async () => {
        while (!isOver) await other.read(pid, [])
      }),
    )
    await wait(50)
    expect(await pipelined.query(one, [])).toEqual([{ one: 1 }])
    isOver = true
    await Promise.all(busy)
  })

  test('after a cancelled one return their rows, and the cancelled one is stopped', async () => {
    const gone = new AbortController()
    const result = pipelined.query(slow, [], gone.signal).catch((error: unknown) => error)
    const after = [1, 2].map(() => pipelined.query(short, [], stays))
    await expect.poll(countSlow).toBe(1)
    gone.abort()
    expect(await result).toBeInstanceOf(ReadCancelled)
    for (const rows of await Promise.all(after)) expect(rows).toMatchObject([{ two: 2 }])
    expect(await countSlow()).toBe(0)
  })

  test('that are cancelled are stopped where the role may have no other connection', async () => {
    const role = `role_${new URL(url).pathname.slice(1)}`
    await admin.query(`create role ${role} login connection limit 1`)
    const pipelined = pipelinedOn(1, Object.assign(new URL(url), { username: role }).href)
    const gone = new AbortController()
    const [{ pid: before } = { pid: 0 }] = await pipelined.query<{ pid: number }>(pid, [])
    const result = pipelined.query(slow, [], gone.signal).catch((error: unknown) => error)
    await expect.poll(countSlow).toBe(1)
    gone.abort()
    expect(await result).toBeInstanceOf(ReadCancelled)
    await expect.poll(countSlow).toBe(0)
    expect(await pipelined.query<{ pid: number }>(pid, [])).toMatchObject([{ pid: before }])
    await Promise.all(pools.splice(2).map((pool) => pool.end()))
    await admin.query(`drop role ${role}`)
  })

  test('before a cancelled one are not stopped by its cancel request', async () => {
    const gone = new AbortController()
    const before = [1, 2].map(() => pipelined.query(short, [], stays))
    const result = pipelined.query(slow, [], gone.signal).catch((error: unknown) => error)
    await wait(50)
    gone.abort()
    expect(await result).toBeInstanceOf(ReadCancelled)
    for (const rows of await Promise.all(before)) expect(rows).toMatchObject([{ two: 2 }])
    await expect.poll(countSlow).toBe(0)
    expect(await pipelined.query(one, [])).toEqual([{ one: 1 }])
  })

  /** Opens a pipeline on a pool with this number of connections. */
  function pipelinedOn(connections: number, address = url): Reader {
    const pool = new pg.Pool({ connectionString: address, max: connections, pipeline: true })
    pool.on('connect', (client) => void client.on('error', () => undefined))
    pools.push(pool)
    return withQuery(pooledReader({ short: pool, long: pool }).pipelined())
  }

  test.each([2, 1])(
    'are retried where the cancel request for another has stopped them, on %s connections',
    async (most) => {
      await admin.query('create sequence if not exists attempts; alter sequence attempts restart')
      const attempt = of('attempt', `select 2 as two, nextval('attempts')::integer as attempt, pg_sleep(0.4)`)
      const attempts = async (): Promise<number> => {
        const { rows } = await admin.query<{ count: number }>(
          'select case when is_called then last_value else 0 end::integer as count from attempts',
        )
        return rows[0]?.count ?? NaN
      }
      const pipelined = pipelinedOn(most)
      const gone = new AbortController()
      const result = pipelined.query(slow, [], gone.signal).catch((error: unknown) => error)
      const after = pipelined.query(attempt, [], stays)
      await expect.poll(countSlow).toBe(1)
      gone.abort()
      await result
      await expect.poll(attempts).toBeGreaterThan(0)
      // Like a late cancel request of the gateway itself. The server signals a process twice for one request, so the
      // second signal may have reached the first attempt already; the second attempt is not to be cancelled.
      await admin.query(
        `select pg_cancel_backend(pid) from pg_stat_activity, attempts
         where datname = current_database() and query = $1 and last_value = 1`,
        [attempt.text],
      )
      expect(await after).toMatchObject([{ two: 2, attempt: 2 }])
    },
  )

  test('are retried where the one before them was cancelled while the server prepared their statement', async () => {
    await admin.query('create table if not exists locked (n integer)')
    await admin.query('begin; lock table locked')
    const locked = of('locked', 'select count(*)::integer as count from locked')
    const waiting = async (): Promise<number[]> => {
      const text = `select pid from pg_locks where relation = 'locked'::regclass and not granted`
      return (await admin.query<{ pid: number }>(text)).rows.map(({ pid }) => pid)
    }
    const gone = new AbortController()
    const result = pipelined.query(locked, [], gone.signal).catch((error: unknown) => error)
    const after = pipelined.query(locked, [], stays)
    await expect.poll(waiting).toHaveLength(1)
    const first = await waiting()
    gone.abort()
    expect(await result).toBeInstanceOf(ReadCancelled)
    await expect.poll(waiting).not.toEqual(first)
    await admin.query('rollback')
    expect(await after).toEqual([{ count: 0 }])
  })

  test('each report the error of a statement that the server cannot prepare', async () => {
    const faults = [1, 2, 3].map(() =>
      pipelined.query(of('unknown', 'select none'), []).catch((error: unknown) => error),
    )
    for (const error of await Promise.all(faults)) expect(error).toMatchObject({ cause: { code: '42703' } })
    expect(await pipelined.query(one, [])).toEqual([{ one: 1 }])
  })

  test('all fail as unavailable where their connection ends, and the next one uses another', async () => {
    const reads = [1, 2].map(() => pipelined.query(slow, []).catch((error: unknown) => error))
    await expect.poll(countSlow).toBe(1)
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query = $1`,
      [slow.text],
    )
    for (const error of await Promise.all(reads)) expect(error).toBeInstanceOf(DatabaseUnavailable)
    expect(await pipelined.query(one, [])).toEqual([{ one: 1 }])
  })

  test('are ended where the server does not respond, and the next one has another connection', async () => {
    const proxy = await proxyTo(url)
    const pipelined = pipelinedOn(2, proxy.url)
    const gone = new AbortController()
    const result = pipelined.query(slow, [], gone.signal).catch((error: unknown) => error)
    const after = pipelined.query(short, [], stays).catch((error: unknown) => error)
    await expect.poll(countSlow).toBe(1)
    proxy.stall()
    gone.abort()
    expect(await result).toBeInstanceOf(ReadCancelled)
    expect(await after).toBeInstanceOf(DatabaseUnavailable)
    expect(await pipelined.query(one, [])).toEqual([{ one: 1 }])
    await Promise.all(pools.splice(2).map((pool) => pool.end()))
    await proxy.close()
  })

  test('with an error of their own do not affect others', async () => {
    const fault = pipelined.query(of('fault', 'select 1 / 0'), []).catch((error: unknown) => error)
    const rows = pipelined.query(one, [])
    expect(await fault).toMatchObject({ code: '22012' })
    expect(await rows).toEqual([{ one: 1 }])
  })
})
