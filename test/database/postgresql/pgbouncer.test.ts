import pg from 'pg'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/database/database.ts'
import { DatabaseUnavailable, ReadCancelled } from '../../../src/database/errors.ts'
import { openDatabase } from '../../../src/database/open.ts'
import { poolsOf } from '../../../src/database/postgresql/read-pools.ts'
import { LogProbe } from '../../../src/database/postgresql/replicas/log-probe.ts'
import { writeOptions } from '../../../src/database/postgresql/writer.ts'
import { readFeedPosition, saveFeedPosition } from '../../../src/database/write/feed.ts'
import { createOnServer, postgresUrl } from '../../support/database.ts'
import { noPgBouncer, type PgBouncer, startPgBouncer } from '../../support/pgbouncer.ts'

const connections = 4
const why = noPgBouncer === null ? '' : ` (skipped: ${noPgBouncer})`

describe.skipIf(postgresUrl === undefined || noPgBouncer !== null)(`a database behind PgBouncer${why}`, () => {
  let url: string
  let pgBouncer: PgBouncer
  let database: Database
  const warnings: string[] = []

  beforeAll(async () => {
    url = await createOnServer(postgresUrl ?? '')
    pgBouncer = await startPgBouncer(url, connections)
    return () => pgBouncer.remove()
  })
  beforeAll(async () => {
    database = await openDatabase({ engine: 'postgresql', url: pgBouncer.url, connections: 20 }, (message) =>
      warnings.push(message),
    )
    return () => database.close()
  })

  test('is read with the settings of reads', async () => {
    const names = ['statement_timeout', 'idle_in_transaction_session_timeout', 'jit']
    const text = `select ${names.map((name) => `current_setting('${name}') as ${name}`).join(', ')}`
    expect(await database.query({ name: 'settings', text }, [])).toEqual([
      { statement_timeout: '1min', idle_in_transaction_session_timeout: '10s', jit: 'off' },
    ])
  })

  test('is written with the settings of writes', async () => {
    const text = `select current_setting('statement_timeout') as statement_timeout`
    const settings = database.transaction((transaction) => transaction.query({ name: 'limit', text }, []))
    expect(await settings).toEqual([{ statement_timeout: '54s' }])
  })

  test('has a cancelled read stopped on the server', async () => {
    const own = new pg.Client({ connectionString: url })
    await own.connect()
    const slow = { name: 'cancelled', text: 'select pg_sleep(600)' }
    const running = async (): Promise<number> => {
      const text = `select from pg_stat_activity where datname = current_database() and state = 'active' and query = $1`
      return (await own.query(text, [slow.text])).rowCount ?? 0
    }
    const gone = new AbortController()
    const result = database.query(slow, [], gone.signal).catch((error: unknown) => error)
    await expect.poll(running).toBe(1)
    gone.abort()
    expect(await result).toBeInstanceOf(ReadCancelled)
    await expect.poll(running, { timeout: 30_000 }).toBe(0)
    await own.end()
  })

  test('is read and written on the connections that PgBouncer accepts, and warns once', async () => {
    const slow = { name: 'slow', text: 'select pg_sleep(0.1), 1 as answer' }
    const reading = Promise.all(Array.from({ length: 40 }, () => database.query<{ answer: number }>(slow, [])))
    const position = { line: 1, byte: 1, fingerprint: 'f' }
    await database.transaction((transaction) => Promise.resolve(saveFeedPosition(transaction, 'a', null, position)))
    expect(await readFeedPosition(database.prisma, 'a')).toEqual(position)
    expect((await reading).every(([row]) => row?.answer === 1)).toBe(true)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(/gives this process no more connections.* up to 20 for reads.*DATABASE_CONNECTIONS/)
  })

  test('is refused where connections share sessions, with the reason', async () => {
    const sharing = await startPgBouncer(url, 20, 20, 'transaction')
    try {
      const opening = openDatabase({ engine: 'postgresql', url: sharing.url, connections: 2 })
      // Otherwise the database is closed.
      opening.then(
        (opened) => opened.close(),
        () => undefined,
      )
      await expect(opening).rejects.toThrow(/connections share sessions.*only pool_mode = session works/)
    } finally {
      await sharing.remove()
    }
  })

  test.each([
    ['is read from', 'session', null],
    ['is not read from', 'transaction', /connections share sessions.*only pool_mode = session works/],
  ] as const)('%s by READ_URLS with pool_mode = %s', async (_what, mode, reason) => {
    const replica = await startPgBouncer(url, 20, 20, mode)
    try {
      const connecting = LogProbe.connect(replica.url)
      if (reason !== null) return await expect(connecting).rejects.toThrow(reason)
      const probe = await connecting
      expect((await probe.position()).isStandby).toBe(false)
      probe.close()
    } finally {
      await replica.remove()
    }
  })

  describe('that accepts more connections than it has sessions', () => {
    const sessions = 6
    let full: PgBouncer

    beforeEach(async () => {
      full = await startPgBouncer(url, 100, sessions)
      return () => full.remove()
    })

    test('is read and written on these, and warns once', async () => {
      const messages: string[] = []
      const config = { engine: 'postgresql', url: full.url, connections: 20 } as const
      const crowded = await openDatabase(config, (message) => messages.push(message))
      const slow = { name: 'slow', text: 'select pg_sleep(0.1), 1 as answer' }
      try {
        const reading = Promise.all(Array.from({ length: 40 }, () => crowded.query<{ answer: number }>(slow, [])))
        const position = { line: 2, byte: 2, fingerprint: 'f' }
        await crowded.transaction((transaction) => Promise.resolve(saveFeedPosition(transaction, 'b', null, position)))
        expect(await readFeedPosition(crowded.prisma, 'b')).toEqual(position)
        expect((await reading).every(([row]) => row?.answer === 1)).toBe(true)
        expect(messages).toHaveLength(1)
        expect(messages[0]).toMatch(/gives this process no more connections/)
      } finally {
        await crowded.close()
      }
    })

    test('is unavailable for lack of sessions where others use all of them, and available when one ends', async () => {
      const others = Array.from({ length: sessions }, () => new pg.Client({ connectionString: full.url }))
      for (const other of others) {
        await other.connect()
        await other.query('select 1')
      }
      const options = { ...writeOptions(), connectionTimeoutMillis: 500, max: 1 }
      const pool = poolsOf(full.url, 2, () => undefined)(options)
      const failed: unknown = await pool.query('select 1').catch((error: unknown) => error)
      expect(failed).toBeInstanceOf(DatabaseUnavailable)
      expect((failed as Error).message).toMatch(/no session within 3 s/)
      const waiting = pool.query('select 1')
      await others.pop()?.end()
      expect((await waiting).rowCount).toBe(1)
      await pool.end()
      for (const other of others) await other.end()
    })
  })
})
