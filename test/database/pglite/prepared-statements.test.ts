import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Read } from '../../../src/database/database.ts'
import { onPGlite } from '../../../src/database/pglite/database.ts'

const byValue: Read = {
  name: 'by_value',
  dependsOn: 'feeds',
  text: 'select value from number where value = $1::integer',
}
const notNumber: Read = { name: 'not_number', dependsOn: 'feeds', text: 'select $1::text::integer as value' }
const insert = { name: 'insert_numbers', text: 'insert into number select generate_series($1::integer, $2::integer)' }

vi.useFakeTimers({ toFake: ['performance'] })
const pglite = await PGlite.create()
const database = onPGlite(pglite, null, () => Promise.resolve())

beforeAll(() => pglite.exec('create table number (value integer primary key)'))
afterAll(async () => {
  vi.useRealTimers()
  await database.close()
})

const read = (value: number) => database.query(byValue, [value])
const planOf = async ({ name }: Read): Promise<string> => {
  const [plan] = await pglite.exec(`explain execute ${name}(1)`)
  return JSON.stringify(plan?.rows)
}

test('a read is prepared once, and its plan is discarded after a while', async () => {
  await pglite.exec('set enable_indexscan = off; set enable_bitmapscan = off')
  for (let times = 0; times < 10; times++) expect(await read(1)).toEqual([])
  await database.transaction((transaction) => transaction.query(insert, [1, 1000]))
  await pglite.exec('reset all')
  expect(await read(1)).toEqual([{ value: 1 }])
  expect(await planOf(byValue)).toContain('Seq Scan')

  vi.advanceTimersByTime(31_000)
  expect(await read(1)).toEqual([{ value: 1 }])
  expect(await planOf(byValue)).toMatch(/Index (Only )?Scan/)
  const { rows } = await pglite.query(`select name from pg_prepared_statements where name = '${byValue.name}'`)
  expect(rows).toHaveLength(1)
})

test('a read waits for the end of a transaction, and sees nothing of one that is rolled back', async () => {
  const seen: unknown[] = []
  const reading = database
    .transaction(async (transaction) => {
      await transaction.query(insert, [2000, 2000])
      const waiting = read(2000).then((rows) => seen.push(rows))
      await transaction.query(insert, [2001, 2001])
      expect(seen).toEqual([])
      throw Object.assign(new Error('rolled back'), { waiting })
    })
    .catch((error: unknown) => (error as { waiting: Promise<unknown> }).waiting)
  await reading
  expect(seen).toEqual([[]])
})

test('a statement with the name of another one is refused where it is prepared, and has its own columns where not', async () => {
  const other = { ...notNumber, text: 'select 8 as other' }
  expect(await database.query(notNumber, ['7'])).toEqual([{ value: 7 }])
  await expect(database.query(other, [])).rejects.toThrow('Two statements have the name not_number.')
  expect(await database.transaction((transaction) => transaction.query(other, []))).toEqual([{ other: 8 }])
})

test('a statement that failed can be run again', async () => {
  await expect(database.query(notNumber, ['x'])).rejects.toMatchObject({ code: '22P02' })
  expect(await database.query(notNumber, ['7'])).toEqual([{ value: 7 }])
})

test('a read of a database that is closing or closed fails', async () => {
  const closed = onPGlite(await PGlite.create(), null, () => Promise.resolve())
  expect(await closed.query(notNumber, ['7'])).toEqual([{ value: 7 }])
  const closing = closed.close()
  await expect(closed.query(notNumber, ['7'])).rejects.toThrow('PGlite is closed')
  await closing
  await expect(closed.query(notNumber, ['7'])).rejects.toThrow('PGlite is closed')
})
