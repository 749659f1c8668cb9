import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/open.ts'
import type { Database, Statement, Value } from '../../../src/database/database.ts'
import { createOnServer, postgresUrl, readingBy } from '../../support/database.ts'
import { everything, vaultThatIs } from '../../support/everything.ts'
import { gatewayOn } from '../../support/gateway.ts'
import { partitionByVault, partitions, tableOfPartition } from '../../support/partitioned.ts'
import { addressOf, apply, deposit, mark, midnight, opened, position } from '../../support/world.ts'

const vaults = Object.values(vaultThatIs)
const more = Array.from({ length: 20 }, (_, each) => addressOf(500 + each))
const newest = midnight + 50 * 86_400
const later = more.flatMap((vault, each) => [
  opened(vault, 'fresh', newest),
  deposit(vault, newest + 1, `${1_000 + each}`),
  mark(vault, newest + 60, `${1_100 + each}`, { positions: [position('p')] }),
])
const ofVault = `positions { id inRange } fees { contributedUsd } equity(points: 20) { ts netUsd strategyDeltaUsd }
  events(first: 5) { totalCount nodes { ts type } } performance { timeWeightedReturn maxDrawdown }`
const queries = [
  `{ vaults(first: 100) { totalCount nodes { address status strategy { name } ${ofVault.replace('performance { timeWeightedReturn maxDrawdown }', '')} } } }`,
  `{ strategies { id liveApr pairs { a b } vaults(first: 5, orderBy: { field: NET_USD, direction: DESC }) { nodes { address netUsd } } } }`,
  `{ vaults(first: 50, where: { pair: [{ a: "WETH", b: "USDC" }] }) { totalCount nodes { address } } }`,
]
const paths = [
  ...[...vaults, ...more.slice(0, 3)].flatMap((vault) => [
    `/vault/${vault}/snapshot`,
    `/vault/${vault}/snapshot?at=${midnight + 86_400}`,
    `/vault/${vault}/equity?points=10`,
    `/vault/${vault}/events?limit=3`,
    `/vault/${vault}/events?type=deposit,harvest`,
  ]),
  '/strategies',
]

describe.skipIf(postgresUrl === undefined)('tables that are partitioned by vault', () => {
  let whole: Database
  let split: Database
  let tables: string[]

  async function open(url: string): Promise<Database> {
    return openDatabase({ engine: 'postgresql', url, connections: 4 })
  }

  beforeAll(async () => {
    const server = postgresUrl ?? ''
    const url = await createOnServer(server)
    await (await open(url)).close()
    const copy = await createOnServer(server, new URL(url).pathname.slice(1))
    whole = await open(url)
    await apply(whole, everything)
    const filled = await open(copy)
    await apply(filled, everything)
    await filled.close()
    tables = await partitionByVault(copy)
    split = await open(copy)
    // And through the statements of the projector.
    for (const database of [whole, split]) await apply(database, later)
  })
  afterAll(() => Promise.all([whole.close(), split.close()]))

  test('are all tables of vaults except the list of vaults', async () => {
    expect(tables.length).toBeGreaterThan(10)
    const { count } = (
      await split.query<{ count: string }>(
        {
          name: 'partitions',
          text: `select count(*)::text as count from pg_class where relispartition and relkind = 'r'`,
        },
        [],
      )
    )[0] ?? { count: '' }
    expect(Number(count)).toBe(tables.length * partitions)
    const used = { name: 'used', text: 'select distinct tableoid::regclass::text from position' }
    expect((await split.query(used, [])).length).toBeGreaterThan(4)
  })

  test.each(paths)('yield the same response to %s', async (path) => {
    const [expected, actual] = await Promise.all([whole, split].map((database) => gatewayOn(database).get(path)))
    expect(await actual?.text()).toBe(await expected?.text())
    expect(actual?.status).toBe(expected?.status)
  })

  test.each(queries.map((query, number) => [number, query] as const))(
    'give the same answer to query %i',
    async (_, query) => {
      const [expected, actual] = await Promise.all([whole, split].map((database) => gatewayOn(database).query(query)))
      expect(actual).toEqual(expected)
    },
  )

  test.each(vaults)('are read in one partition each for one vault, %s', async (vault) => {
    const read = await partitionsRead(split, async (database) => {
      const { get, query } = gatewayOn(database)
      for (const path of paths.filter((each) => each.includes(vault))) await get(path)
      await query(`{ vault(address: "${vault}") { ${ofVault} } }`)
    })
    expect(read.size).toBeGreaterThan(5)
    for (const [table, relations] of read) expect([table, relations.size]).toEqual([table, 1])
  })
})

/** Returns the partitions of each table that the hot reads of some work scan, from their plans. */
async function partitionsRead(
  database: Database,
  work: (database: Database) => Promise<unknown>,
): Promise<Map<string, Set<string>>> {
  const sent: [Statement, readonly Value[]][] = []
  await work(
    readingBy(database, (statement, values, signal, reader) => {
      sent.push([statement, values])
      return reader.read(statement, values, signal)
    }),
  )
  const read = new Map<string, Set<string>>()
  for (const [{ name, text }, values] of sent) {
    const explain = { name: `explain_${name}`, text: `explain (analyze, timing off, format json) ${text}` }
    const [explained] = await database.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(explain, values)
    for (const relation of explained === undefined ? [] : scanned(explained['QUERY PLAN'][0].Plan)) {
      const table = tableOfPartition(relation)
      if (table !== null) read.set(table, (read.get(table) ?? new Set()).add(relation))
    }
  }
  return read
}

interface Node {
  readonly 'Relation Name'?: string
  readonly 'Actual Loops': number
  readonly Plans?: readonly Node[]
}

/** Relations whose scan was executed. */
function scanned(node: Node): string[] {
  const own = node['Relation Name'] !== undefined && node['Actual Loops'] > 0 ? [node['Relation Name']] : []
  return [...own, ...(node.Plans ?? []).flatMap(scanned)]
}
