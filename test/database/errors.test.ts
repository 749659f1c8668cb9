import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open.ts'
import { classifyServerError } from '../../src/database/driver-errors.ts'
import { DatabaseRefused, DatabaseUnavailable, isOutage } from '../../src/database/errors.ts'
import { toDatabaseError } from '../../src/database/postgresql/reads/read-errors.ts'
import { pooledTransactions } from '../../src/database/postgresql/transactions.ts'
import { writeOptions } from '../../src/database/postgresql/writer.ts'
import { readFeedPosition, saveFeedPosition } from '../../src/database/write/feed.ts'
import { createOnServer, postgresUrl } from '../support/database.ts'
import { type Proxy, proxyTo } from '../support/proxy.ts'

test.each(['57P05', '25P04', 'XX000'])('an error %s that ends the session is an outage', (code) => {
  const error = Object.assign(new pg.DatabaseError('ended', 5, 'error'), { severity: 'FATAL', code })
  expect(classifyServerError('a server')(error)).toBeInstanceOf(DatabaseUnavailable)
  expect(toDatabaseError(error)).toBeInstanceOf(DatabaseUnavailable)
})

const position = { line: 1, byte: 1, fingerprint: 'f' }
const statement = { name: 'one', text: 'select 1 as one' }
const endSessions = 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1'

describe.runIf(postgresUrl !== undefined)('trouble with a PostgreSQL server', () => {
  let proxy: Proxy
  let database: Database
  let url: string

  beforeEach(async () => {
    url = await createOnServer(postgresUrl ?? '')
    proxy = await proxyTo(url)
    database = await openDatabase({ engine: 'postgresql', url: proxy.url, connections: 2 })
  })
  afterEach(async () => {
    await proxy.open()
    await database.close()
    await proxy.close()
  })

  /** Runs a transaction with an interruption between two statements. */
  const interrupted = (happens: () => unknown): Promise<void> =>
    database.transaction(async (transaction) => {
      saveFeedPosition(transaction, 'a', null, position)
      await transaction.query(statement, [])
      await happens()
      saveFeedPosition(transaction, 'b', null, position)
    })
  const onServer = async (sql: string): Promise<void> => {
    const client = new pg.Client({ connectionString: postgresUrl })
    await client.connect()
    await client.query(sql, [new URL(url).pathname.slice(1)])
    await client.end()
  }
  const saved = (name: string) => readFeedPosition(database.prisma, name)

  test.each<[string, () => unknown]>([
    ['its connection is cut', () => proxy.cut()],
    ['the way to the server is closed', () => proxy.close()],
    ['the server ends it', () => onServer(`${endSessions} and state = 'idle in transaction'`)],
  ])('fails a transaction where %s, without partial writes', async (_what, happens) => {
    const failed = await interrupted(happens).catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(DatabaseUnavailable)
    const named = expect.stringMatching(`^PostgreSQL at ${new URL(proxy.url).host} does not answer now: .+`) as string
    expect(failed).toMatchObject({ message: named })
    await proxy.open()
    expect([await saved('a'), await saved('b')]).toEqual([null, null])
    await interrupted(() => undefined)
    expect([await saved('a'), await saved('b')]).toEqual([position, position])
  })

  test.each([
    ['is idle for too long', "set local idle_in_transaction_session_timeout = '50ms'", 'select 1', 500],
    ['has a statement that takes too long', "set local statement_timeout = '50ms'", 'select pg_sleep(60)', 0],
    ['waits for a lock for too long', "set local lock_timeout = '50ms'", 'lock table feed in exclusive mode', 0],
  ])('fails a transaction that %s as an outage', async (_what, limit, text, milliseconds) => {
    const holder = new pg.Client({ connectionString: url })
    await holder.connect()
    await holder.query('begin; lock table feed in row exclusive mode')
    const running = database.transaction(async (transaction) => {
      await transaction.query({ name: 'limit', text: limit }, [])
      await new Promise((resolve) => setTimeout(resolve, milliseconds))
      await transaction.query({ name: 'late', text }, [])
    })
    await expect(running).rejects.toBeInstanceOf(DatabaseUnavailable)
    await holder.end()
    await interrupted(() => undefined)
    expect(await saved('b')).toEqual(position)
  })

  /** Waits until so many sessions of the database match a condition, besides those that hold a lock for a test. */
  const sessions = async (condition: string, count: number): Promise<void> => {
    const watcher = new pg.Client({ connectionString: postgresUrl })
    await watcher.connect()
    const text = `select from pg_stat_activity where datname = $1 and query not like 'begin; lock%' and ${condition}`
    const values = [new URL(url).pathname.slice(1)]
    const matching = async (): Promise<unknown> => (await watcher.query(text, values)).rowCount
    await expect.poll(matching, { timeout: 20_000 }).toBe(count)
    await watcher.end()
  }

  test('fails a transaction that waits for another, and the server ends it while the lock is held', async () => {
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    await other.query('begin; lock table feed')
    const waiting = interrupted(() => undefined)
    waiting.catch(() => undefined)
    await sessions(`wait_event_type = 'Lock'`, 1)
    proxy.cut()
    await expect(waiting).rejects.toBeInstanceOf(DatabaseUnavailable)
    await sessions(`state <> 'idle'`, 0)
    await other.end()
  })

  test('limits the time of transactions and rare reads on the server', async () => {
    const names = ['statement_timeout', 'idle_in_transaction_session_timeout', 'client_connection_check_interval']
    const text = `select ${names.map((name) => `current_setting('${name}') as ${name}`).join(', ')}`
    const limits = { statement_timeout: '54s', idle_in_transaction_session_timeout: '5min' }
    const expected = [{ ...limits, client_connection_check_interval: '2s' }]
    expect(await database.transaction((transaction) => transaction.query({ name: 'limits', text }, []))).toEqual(
      expected,
    )
    expect(await database.prisma.$queryRawUnsafe(text)).toEqual(expected)
  })

  test('fails a transaction whose lock is held for too long, and the server ends it while it is held', async () => {
    const pool = new pg.Pool({ connectionString: url, ...writeOptions(1_000), pipeline: true })
    const { transaction: late } = pooledTransactions(pool, classifyServerError('a server'))
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    const waiting = late(async (transaction) => {
      saveFeedPosition(transaction, 'a', null, position)
      await other.query('begin; lock table vault')
      await transaction.query({ name: 'vaults', text: 'select from vault' }, [])
    })
    await expect(waiting).rejects.toThrow(/^PostgreSQL has cancelled a statement: .*statement timeout/)
    await sessions(`state <> 'idle'`, 0)
    expect(await saved('a')).toBeNull()
    await other.end()
    await pool.end()
  })

  test('fails a transaction on a server that hangs', async () => {
    const pool = new pg.Pool({ connectionString: proxy.url, ...writeOptions(500), pipeline: true })
    pool.on('connect', (client) => void client.on('error', () => undefined))
    const { transaction: hanging } = pooledTransactions(pool, classifyServerError('a server'))
    const waiting = hanging(async (transaction) => {
      saveFeedPosition(transaction, 'a', null, position)
      await transaction.query(statement, [])
      proxy.stall()
      await transaction.query(statement, [])
    })
    await expect(waiting).rejects.toBeInstanceOf(DatabaseUnavailable)
    await pool.end()
  })

  test('fails a commit whose response is lost, although it is committed', async () => {
    proxy.loseCommits(1)
    await expect(interrupted(() => undefined)).rejects.toBeInstanceOf(DatabaseUnavailable)
    expect(proxy.lost).toBe(1)
    expect(await saved('b')).toEqual(position)
  })

  test('fails reads and new transactions while the server is down', async () => {
    await proxy.close()
    await expect(saved('a')).rejects.toBeInstanceOf(DatabaseUnavailable)
    await expect(database.query(statement, [])).rejects.toBeInstanceOf(DatabaseUnavailable)
    await expect(interrupted(() => undefined)).rejects.toBeInstanceOf(DatabaseUnavailable)
    await proxy.open()
    expect(await database.query(statement, [])).toEqual([{ one: 1 }])
  })

  test('fails transactions and reads as an outage while the server rejects logins of the role, with the reason', async () => {
    const role = `role_${new URL(url).pathname.slice(1)}`
    const admin = new pg.Client({ connectionString: url })
    await admin.connect()
    await admin.query(`create role ${role} login; grant all on all tables in schema public to ${role}`)
    const asRole = Object.assign(new URL(url), { username: role }).toString()
    const refused = await openDatabase({ engine: 'postgresql', url: asRole, connections: 2 })
    const save = () =>
      refused.transaction((transaction) => Promise.resolve(saveFeedPosition(transaction, 'a', null, position)))
    await admin.query(`alter role ${role} nologin`)
    await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = $1`, [role])
    const reason = /^PostgreSQL at .* rejects the connection: role "\w+" is not permitted to log in\.$/
    const failed = await save().catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(DatabaseUnavailable)
    expect(failed).toMatchObject({ message: expect.stringMatching(reason) as string })
    await expect(readFeedPosition(refused.prisma, 'a')).rejects.toThrow(reason)
    const read = await refused.query(statement, []).catch((error: unknown) => error)
    expect(read).toBeInstanceOf(DatabaseUnavailable)
    // Clients get the message of a read.
    expect(read).toMatchObject({ message: 'The database does not answer now.' })
    await admin.query(`alter role ${role} login`)
    await save()
    expect(await readFeedPosition(refused.prisma, 'a')).toEqual(position)
    await refused.close()
    await admin.query(`drop owned by ${role}; drop role ${role}`)
    await admin.end()
  })

  test.each(['53100', '53200', '53400', '55P03'])(
    'is an outage of a read that lacks disk space, memory or a lock: %s',
    async (code) => {
      const text = `do $$ begin raise exception 'full' using errcode = '${code}'; end $$`
      await expect(database.query({ name: `lacks_${code}`, text }, [])).rejects.toBeInstanceOf(DatabaseUnavailable)
      expect(await database.query(statement, [])).toEqual([{ one: 1 }])
    },
  )

  test.each(['57014', '55P03', '53400'])('is an outage of a rare read that is cancelled: %s', async (code) => {
    const text = `do $$ begin raise exception 'canceled' using errcode = '${code}'; end $$`
    const cancelled = database.prisma.$executeRawUnsafe(text)
    await expect(cancelled).rejects.toThrow('PostgreSQL has cancelled a statement: canceled.')
    await expect(cancelled).rejects.toBeInstanceOf(DatabaseUnavailable)
    expect(await saved('a')).toBeNull()
  })

  test.each([
    ['table', 'select one from no_such_table'],
    ['column', 'select no_such_column from feed'],
    ['type', 'select null::no_such_type'],
  ])('is no outage where a %s is missing, which is reported in one line', async (_what, text) => {
    const missing = { name: `missing_${_what}`, text }
    const line = /^The database lacks a part: .*"no_such_\w+" does not exist\. .* npm run migrate /
    for (const run of [
      () => database.query(missing, []),
      () => database.prisma.$queryRawUnsafe(text),
      () => interrupted(() => database.transaction((transaction) => transaction.query(missing, []))),
    ]) {
      const failed: unknown = await run().catch((error: unknown) => error)
      expect(failed).toBeInstanceOf(DatabaseRefused)
      expect(failed).toMatchObject({ message: expect.stringMatching(line) as string })
    }
  })

  test('is none where the statement is at fault', async () => {
    const wrong: unknown = await database.prisma.$executeRawUnsafe('select 1 / 0').catch((error: unknown) => error)
    expect(wrong).toBeInstanceOf(Error)
    expect(isOutage(wrong)).toBe(false)
    const ownFault = new Error('its own')
    const failed = interrupted(() => {
      throw ownFault
    })
    await expect(failed).rejects.toBe(ownFault)
    expect(isOutage(ownFault)).toBe(false)
  })
})
