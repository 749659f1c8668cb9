import { expect, test } from 'vitest'
import type { Database, Statement } from '../../src/database/database.ts'
import { createDatabase } from '../support/database.ts'
import { lengthenSeries } from '../support/series.ts'
import { addressOf, apply, opened, strategy } from '../support/world.ts'

interface Node {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly Plans?: readonly Node[]
}

interface Explained {
  readonly 'QUERY PLAN': readonly { readonly Plan: Node }[]
}

/** Returns the number of rows that a plan node and its children have returned or filtered out. */
function rowsOf(node: Node): number {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0)
  const below = (node.Plans ?? []).reduce((sum, each) => sum + rowsOf(each), 0)
  return (node['Actual Rows'] + removed) * node['Actual Loops'] + below
}

const explaining = ({ name, text }: Statement): Statement => ({
  name: `explain_${name}`,
  text: `explain (analyze, timing off, format json) ${text}`,
})

/** Returns a database that counts the rows that each statement of its transactions visits, by name. */
function explained(database: Database): { explaining: Database; rows: Map<string, number> } {
  const rows = new Map<string, number>()
  const transaction: Database['transaction'] = (work) =>
    database.transaction((inner) =>
      work({
        ...inner,
        query: (statement, values) => inner.query(statement, values),
        send: (statement, values) => {
          void inner.query<Explained>(explaining(statement), values).then((plans) => {
            const sum = plans.flatMap((plan) => plan['QUERY PLAN']).reduce((total, { Plan }) => total + rowsOf(Plan), 0)
            rows.set(statement.name, Math.max(sum, rows.get(statement.name) ?? 0))
          })
        },
      }),
    )
  return { explaining: { ...database, transaction }, rows }
}

test('pages of many points visit each point a few times, without statistics of the tables', async () => {
  const points = 20_000
  const database = await createDatabase()
  try {
    await apply(database, [strategy('one'), opened(addressOf(1), 'one')])
    const { explaining, rows } = explained(database)
    await lengthenSeries(explaining, addressOf(1), points)
    expect([...rows.keys()]).toEqual(expect.arrayContaining(['pages_from_points', 'curve_pages_from_points']))
    for (const [name, count] of rows) expect(count / points, name).toBeLessThan(20)
  } finally {
    await database.close()
  }
})
