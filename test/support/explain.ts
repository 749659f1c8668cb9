import type { Database, Statement, Value } from '../../src/database/database.ts'
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

/** Work of a database for an answer. */
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
  const scans: Node[] = []
  let pages = 0
  for (const [{ name, text }, values] of sent) {
    const toDatabaseError = {
      name: `explain_${name}`,
      text: `explain (analyze, buffers, timing off, format json) ${text}`,
    }
    const [row] = await database.query<{ 'QUERY PLAN': readonly { Plan: Node }[] }>(toDatabaseError, values)
    for (const { Plan: plan } of row?.['QUERY PLAN'] ?? []) {
      scans.push(...scansOf(plan))
      pages += (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
    }
  }
  return {
    rows: scans.reduce((sum, scan) => sum + touchedBy(scan), 0),
    pages,
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
