import type { Database, Statement, Transaction, Value } from '../../src/database/database.ts'
import { readingBy } from './database.ts'

/** A node of a plan in EXPLAIN's JSON format. */
interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly PlanNode[]
}

interface Explained {
  readonly 'QUERY PLAN': readonly { readonly Plan: PlanNode }[]
}

/** Work of statements, from EXPLAIN ANALYZE. */
export interface QueryStatistics {
  /** Rows that scans read, including those that a filter removed. */
  readonly rows: number
  /** Buffer accesses: pages of tables and indexes, with repetitions. */
  readonly pages: number
  /** Scans with their rows, as text. */
  readonly scans: readonly string[]
}

/** Runs some work, and returns the statistics of its hot reads, which are explained afterwards. */
export async function explainReads(
  database: Database,
  work: (database: Database) => Promise<unknown>,
): Promise<QueryStatistics> {
  const sent: [Statement, readonly Value[]][] = []
  await work(
    readingBy(database, (statement, values, signal, reader) => {
      sent.push([statement, values])
      return reader.read(statement, values, signal)
    }),
  )
  const plans: PlanNode[] = []
  for (const [statement, values] of sent) {
    plans.push(...plansOf(await database.query<Explained>(explainStatement(statement), values)))
  }
  return sumOf(plans)
}

/** The planner scans small tables completely, where it uses the index of a large one: these settings make it use the index. */
const preferIndexes: Statement = {
  name: 'prefer_indexes',
  text: `select set_config('enable_' || method, 'off', true) from unnest('{seqscan,hashjoin,mergejoin}'::text[]) as method`,
}

/**
 * Runs some work, and returns the statistics of its transactions, with the plans of large tables. Each statement is sent by
 * EXPLAIN ANALYZE, which executes it; one whose rows are used is executed again.
 */
export async function explainWrites(
  database: Database,
  work: (database: Database) => Promise<unknown>,
): Promise<QueryStatistics> {
  const plans: PlanNode[] = []
  const transaction: Database['transaction'] = (run) =>
    database.transaction(async (inner) => {
      inner.send(preferIndexes, [])
      const explained: Promise<unknown>[] = []
      const explain = (statement: Statement, values: readonly Value[]): void => {
        const plan = inner.query<Explained>(explainStatement(statement), values)
        explained.push(plan.then((rows) => plans.push(...plansOf(rows))))
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

function explainStatement({ name, text }: Statement): Statement {
  return { name: `explain_${name}`, text: `explain (analyze, buffers, timing off, format json) ${text}` }
}

function plansOf(rows: readonly Explained[]): PlanNode[] {
  return rows.flatMap((row) => row['QUERY PLAN'].map(({ Plan: plan }) => plan))
}

function sumOf(plans: readonly PlanNode[]): QueryStatistics {
  const scans = plans.flatMap(scansOf)
  return {
    rows: scans.reduce((sum, scan) => sum + rowsReadBy(scan), 0),
    pages: plans.reduce((sum, plan) => sum + (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0), 0),
    scans: scans.map((scan) => `${scan['Node Type']} on ${scan['Relation Name'] ?? ''}: ${rowsReadBy(scan)}`),
  }
}

function scansOf(node: PlanNode): PlanNode[] {
  return [...(node['Relation Name'] === undefined ? [] : [node]), ...(node.Plans ?? []).flatMap(scansOf)]
}

function rowsReadBy(node: PlanNode): number {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  return (node['Actual Rows'] + removed) * node['Actual Loops']
}
