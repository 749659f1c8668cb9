import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/database/database.ts'
import { ReadCancelled } from '../../../src/database/errors.ts'
import { openDatabase } from '../../../src/database/open.ts'
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
    const given = database.query(slow, [], gone.signal).catch((error: unknown) => error)
    await expect.poll(running).toBe(1)
    gone.abort()
    expect(await given).toBeInstanceOf(ReadCancelled)
    await expect.poll(running, { timeout: 10_000 }).toBe(0)
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
    expect(warnings[0]).toMatch(/gives this process no more connections.*DATABASE_CONNECTIONS \(20\)/)
  })
})
