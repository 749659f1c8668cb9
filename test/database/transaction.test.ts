import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Transaction } from '../../src/database/database.ts'
import { isConflict } from '../../src/database/errors.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'

const insert = { name: 'insert_number', text: 'insert into number values ($1::integer)' }
const numbers = { name: 'numbers', text: 'select value from number order by value' }
const divide = { name: 'divide', text: 'select 1 / $1::integer as quotient' }

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
