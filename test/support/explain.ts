import type { Database, Statement, Value } from '../../src/database/database.ts'

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Node[]
}

/** How many rows of tables the hot reads that some work sends have to touch: those that are thrown away too. */
export async function rowsTouched(
  database: Database,
  work: (database: Database) => Promise<unknown>,
): Promise<{ rows: number; scans: string[] }> {
  const sent: [Statement, readonly Value[]][] = []
  await work({
    ...database,
    query: <Row>(statement: Statement, values: readonly Value[]) => {
      sent.push([statement, values])
      return database.query<Row>(statement, values)
    },
  })
  const scans: Node[] = []
  for (const [{ name, text }, values] of sent) {
    const explained = { name: `explain_${name}`, text: `explain (analyze, timing off, format json) ${text}` }
    const [row] = await database.query<{ 'QUERY PLAN': readonly { Plan: Node }[] }>(explained, values)
    for (const { Plan: plan } of row?.['QUERY PLAN'] ?? []) scans.push(...scansOf(plan))
  }
  return {
    rows: scans.reduce((sum, scan) => sum + touchedBy(scan), 0),
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
