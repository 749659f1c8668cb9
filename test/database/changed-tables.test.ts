import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, runScript, type TestDatabase } from '../support/database.ts'
import { everything, vaultThatIs } from '../support/everything.ts'
import { gatewayOn } from '../support/gateway.ts'
import { apply, mark, midnight } from '../support/world.ts'

const day = 86_400
const { earning } = vaultThatIs
const paths = [
  ...['snapshot', `snapshot?at=${midnight + 3 * day}`, 'equity?points=9', 'events'].map(
    (of) => `/vault/${earning}/${of}`,
  ),
  ...['/strategies', '/universe', '/universe/pairs'],
]

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
  await apply(database, everything)
})
afterAll(() => database.close())

/** Adds a column to each table, like a migration of a newer version. */
async function changeTables(): Promise<void> {
  const tables = await database.query<{ name: string }>(
    { name: 'tables', text: `select tablename::text as name from pg_tables where schemaname = 'public'` },
    [],
  )
  const columns = tables.map(({ name }) => `alter table "${name}" add column later integer not null default 7;`)
  await runScript(database, columns.join('\n'))
}

test('statements that were prepared before tables are changed are planned anew', async () => {
  const gateway = gatewayOn(database)
  const answers = async (): Promise<string[]> =>
    Promise.all(
      paths.map(async (path) => {
        const response = await gateway.get(path)
        return `${response.status} ${await response.text()}`
      }),
    )
  const before = await answers()
  expect(before.filter((answer) => answer.startsWith('200 '))).toEqual(before)
  // PostgreSQL keeps the plan of a statement from its sixth run on.
  for (let run = 0; run < 6; run++) expect(await answers()).toEqual(before)
  await changeTables()
  expect(await answers()).toEqual(before)
  const later = mark(earning, midnight + 60 * day, '77')
  expect(await apply(database, [later])).toMatchObject({ applied: { mark: 1 } })
  const snapshot = await gateway.get(`/vault/${earning}/snapshot`)
  expect(await snapshot.json()).toMatchObject({ valueUsd: 77, updatedAt: midnight + 60 * day })
})
