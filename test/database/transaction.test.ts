import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Database, Transaction } from '../../src/database/database.ts'
import { classifyServerError } from '../../src/database/driver-errors.ts'
import { DatabaseUnavailable, isConflict } from '../../src/database/errors.ts'
import { pooledTransactions } from '../../src/database/postgresql/transactions.ts'
import { TransactionQueue } from '../../src/database/transaction-queue.ts'
import { appendSet } from '../../src/database/write/sets.ts'
import { createOnServer, emptyDatabase, postgresUrl, type TestDatabase } from '../support/database.ts'

const insert = { name: 'insert_number', text: 'insert into number values ($1::integer)' }
const numbers = { name: 'all_numbers', text: 'select value from number order by value' }
const copy = { name: 'copy_number', text: 'copy number (value) from stdin' }
const count = { name: 'count_number', text: 'select count(*)::integer as count from number' }
const divide = { name: 'divide_number', text: 'select 1 / $1::integer as quotient' }

let database: TestDatabase

beforeAll(async () => {
  database = await emptyDatabase()
  await database.prisma.$executeRawUnsafe('create table number (value integer primary key)')
})
beforeEach(() => database.prisma.$executeRawUnsafe('truncate number'))
afterAll(() => database.prisma.$executeRawUnsafe('drop table number'))

const stored = () => database.query(numbers, [])
const failed = (work: (transaction: Transaction) => Promise<unknown>): Promise<unknown> =>
  database.transaction(work).then(
    () => undefined,
    (error: unknown) => error,
  )

describe('a transaction', () => {
  test('runs statements in order, and commits those that were not awaited', async () => {
    const seen = await database.transaction((transaction) => {
      transaction.send(insert, [1])
      const first = transaction.query(numbers, [])
      transaction.send(insert, [2])
      return Promise.all([first, transaction.query(numbers, [])])
    })
    expect(seen).toEqual([[{ value: 1 }], [{ value: 1 }, { value: 2 }]])
    expect(await stored()).toEqual([{ value: 1 }, { value: 2 }])
  })

  test('is rolled back where a statement fails that was not awaited', async () => {
    const error = await failed((transaction) => {
      transaction.send(insert, [1])
      transaction.send(insert, [1])
      transaction.send(insert, [2])
      return Promise.resolve()
    })
    expect(isConflict(error)).toBe(true)
    expect(await stored()).toEqual([])
  })

  test('fails with the first error, whichever statement is awaited', async () => {
    const error = await failed((transaction) => {
      transaction.send(divide, [0])
      return transaction.query(numbers, [])
    })
    expect(error).toMatchObject({ code: '22012' })
  })

  test('copies rows in turn with statements', async () => {
    const many = Array.from({ length: 100_000 }, (_, at) => `${at + 3}\n`).join('')
    const seen = await database.transaction(async (transaction) => {
      transaction.copy(copy, '1\n')
      const first = transaction.query(numbers, [])
      transaction.copy(copy, many)
      transaction.send(insert, [2])
      const counted = transaction.query<{ count: number }>(count, [])
      return [await first, await counted]
    })
    expect(seen).toEqual([[{ value: 1 }], [{ count: 100_002 }]])
  })

  test.each([
    ['a row that is there', '23505', (transaction: Transaction) => transaction.copy(copy, '2\n1\n3\n')],
    [
      'a value of another type',
      '22P02',
      (transaction: Transaction) => transaction.copy(copy, '2\nthree\n'.repeat(50_000)),
    ],
    [
      'no table',
      '42P01',
      (transaction: Transaction) => transaction.copy({ ...copy, text: 'copy none from stdin' }, '2\n'),
    ],
  ])('is rolled back where %s is copied', async (_, code, copyBad) => {
    await database.transaction((transaction) => transaction.query(insert, [1]))
    const error = await failed((transaction) => {
      copyBad(transaction)
      transaction.copy(copy, '4\n')
      return transaction.query(insert, [5])
    })
    // PostgreSQL's error of a missing table is the cause of a refusal.
    expect((error as Error).cause ?? error).toMatchObject({ code })
    await database.transaction((transaction) => transaction.query(insert, [6]))
    expect(await stored()).toEqual([{ value: 1 }, { value: 6 }])
  })

  test('copies nothing after a statement that failed', async () => {
    const error = await failed((transaction) => {
      transaction.send(divide, [0])
      transaction.copy(copy, '1\n')
      return Promise.resolve()
    })
    expect(error).toMatchObject({ code: '22012' })
    expect(await stored()).toEqual([])
  })

  test('appends any text, bytes and NULL as they are', async () => {
    const texts = ['\\N', 'a\tb', 'a\nb\r\n', '\\.', '', '\\', '"Ä" 😀', 'null']
    // Hides the table of this name until the transaction ends.
    const create =
      'create temporary table ledger_row (log_index integer, position_id text, digest bytea) on commit drop'
    const read = `select log_index, position_id, encode(digest, 'hex') as digest from ledger_row order by log_index`
    const append = appendSet('ledger_row', { log_index: 'integer', position_id: 'text', digest: 'bytea' })
    const rows = texts.map((text, at) => ({ log_index: at, position_id: text, digest: `00ff0${at}5c` }))
    const none = { log_index: 99, position_id: null, digest: null }
    const seen = await database.transaction((transaction) => {
      transaction.send({ name: 'create', text: create }, [])
      append(transaction, [...rows.map((row) => ({ ...row, digest: `\\x${row.digest}` })), none])
      return transaction.query({ name: 'read', text: read }, [])
    })
    expect(seen).toEqual([...rows, none])
  })

  test('is rolled back where the work itself fails, and the next one succeeds', async () => {
    const fault = new Error('its own')
    const error = await failed((transaction) => {
      transaction.send(insert, [1])
      return Promise.reject(fault)
    })
    expect(error).toBe(fault)
    await database.transaction((transaction) => transaction.query(insert, [2]))
    expect(await stored()).toEqual([{ value: 2 }])
  })
})

describe('the queue of a transaction', () => {
  const fault = new Error('the first one')
  const queueOf = (sent: unknown[]): TransactionQueue =>
    new TransactionQueue(
      (statement) => {
        sent.push(statement)
        return statement === divide ? Promise.reject(fault) : Promise.resolve([])
      },
      (statement) => {
        sent.push(statement)
        return Promise.resolve()
      },
    )

  test('fails a statement that succeeds after one that failed', async () => {
    const queue = queueOf([])
    queue.send(divide, [0])
    await expect(queue.query(numbers, [])).rejects.toBe(fault)
  })

  test('sends no statement after a failed one', async () => {
    const sent: unknown[] = []
    const queue = queueOf(sent)
    await expect(queue.query(divide, [0])).rejects.toBe(fault)
    await expect(queue.query(numbers, [])).rejects.toBe(fault)
    queue.send(insert, [1])
    queue.copy(copy, '1\n')
    await expect(queue.end()).rejects.toBe(fault)
    expect(sent).toEqual([divide])
  })
})

/** Returns a client whose server cancels a statement instead of executing it, and keeps the session. */
function cancelling(text: string): typeof pg.Client {
  const cancelled = `do $$ begin raise exception 'canceled' using errcode = '57014'; end $$`
  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super(config)
      const query = this.query.bind(this) as (...sent: unknown[]) => unknown
      const cancelOne = (sent: { readonly text?: string }, ...rest: unknown[]): unknown =>
        query(sent.text === text ? { text: cancelled } : sent, ...rest)
      Object.assign(this, { query: cancelOne })
    }
  }
}

describe.runIf(postgresUrl !== undefined)('a transaction on a server that cancels', () => {
  let pool: pg.Pool

  async function transactionsBy(Client: typeof pg.Client): Promise<Pick<Database, 'transaction'>> {
    const connectionString = await createOnServer(postgresUrl ?? '')
    pool = new pg.Pool({ connectionString, max: 1, pipeline: true, Client })
    await pool.query('create table number (value integer primary key)')
    return pooledTransactions(pool, classifyServerError('a server'))
  }
  afterEach(() => pool.end())

  test('its ROLLBACK leaves no connection within it', async () => {
    const { transaction } = await transactionsBy(cancelling('rollback'))
    const fault = new Error('its own')
    await expect(transaction(() => Promise.reject(fault))).rejects.toBe(fault)
    await transaction((next) => next.query(insert, [1]))
    expect((await pool.query(numbers.text)).rows).toEqual([{ value: 1 }])
  })

  test.each<[string, (transaction: Transaction) => Promise<unknown>]>([
    ['sent behind it', (transaction) => Promise.resolve(transaction.send(insert, [1]))],
    ['copied behind it', (transaction) => Promise.resolve(transaction.copy(copy, '1\n'))],
    [
      'sent after an answer',
      async (transaction) => {
        await transaction.query(numbers, []).catch(() => undefined)
        transaction.send(insert, [1])
      },
    ],
  ])('its BEGIN stores nothing that is %s', async (_, work) => {
    const { transaction } = await transactionsBy(cancelling('begin'))
    await expect(transaction(work)).rejects.toBeInstanceOf(DatabaseUnavailable)
    expect((await pool.query(numbers.text)).rows).toEqual([])
  })
})
