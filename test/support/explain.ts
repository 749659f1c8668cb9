import type { Database, Statement, Transaction, Value } from '../../src/database/database.ts'
import { readingBy } from './database.ts'

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Node[]
}

interface Explained {
  readonly 'QUERY PLAN': readonly { readonly Plan: Node }[]
}

/** Work of a database for an answer, or for a batch of facts. */
export interface Touched {
  /** Rows of tables: those that are thrown away too. */
  readonly rows: number
  /** Pages of tables and indexes, as often as they are looked at. */
  readonly pages: number
  readonly scans: readonly string[]
}

/** Buffers that the hot reads of some work touch. */
export async function touched(database: Database, work: (database: Database) => Promise<unknown>): Promise<Touched> {
  const sent: [Statement, readonly Value[]][] = []
  await work(
    readingBy(database, (statement, values, signal, reader) => {
      sent.push([statement, values])
      return reader.read(statement, values, signal)
    }),
  )
  const plans: Node[] = []
  for (const [statement, values] of sent) {
    plans.push(...plansOf(await database.query<Explained>(explaining(statement), values)))
  }
  return sumOf(plans)
}

const asIfLarge: Statement = {
  name: 'as_if_large',
  text: `select set_config('enable_' || way, 'off', true) from unnest('{seqscan,hashjoin,mergejoin}'::text[]) as way`,
}

/**
 * Rows and buffers that the transactions of some work touch. Statements whose rows are used run twice. The planner reads a small
 * table whole, where it looks up rows of a large one: it is told to look them up.
 */
export async function touchedByWrites(
  database: Database,
  work: (database: Database) => Promise<unknown>,
): Promise<Touched> {
  const plans: Node[] = []
  const transaction: Database['transaction'] = (run) =>
    database.transaction(async (inner) => {
      inner.send(asIfLarge, [])
      const explained: Promise<unknown>[] = []
      const explain = (statement: Statement, values: readonly Value[]): void => {
        const found = inner.query<Explained>(explaining(statement), values)
        explained.push(found.then((rows) => plans.push(...plansOf(rows))))
      }
      const explainingAll: Transaction = {
        send: explain,
        copy: (statement, rows) => inner.copy(statement, rows),
        query: (statement, values) => {
          explain(statement, values)
          return inner.query(statement, values)
        },
      }
      const result = await run(explainingAll)
      await Promise.all(explained)
      return result
    })
  await work({ ...database, transaction })
  return sumOf(plans)
}

function explaining({ name, text }: Statement): Statement {
  return { name: `explain_${name}`, text: `explain (analyze, buffers, timing off, format json) ${text}` }
}

function plansOf(rows: readonly Explained[]): Node[] {
  return rows.flatMap((row) => row['QUERY PLAN'].map(({ Plan: plan }) => plan))
}

function sumOf(plans: readonly Node[]): Touched {
  const scans = plans.flatMap(scansOf)
  return {
    rows: scans.reduce((sum, scan) => sum + touchedBy(scan), 0),
    pages: plans.reduce((sum, plan) => sum + (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0), 0),
    scans: scans.map((scan) => `${scan['Node Type']} on ${scan['Relation Name'] ?? ''}: ${touchedBy(scan)}`),
  }
}

function scansOf(node: Node): Node[] {
  return [...(node['Relation Name'] === undefined ? [] : [node]), ...(node.Plans ?? []).flatMap(scansOf)]
}

function touchedBy(node: Node): number {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  return (node['Actual Rows'] + removed) * node['Actual Loops']
}
