import type { Database } from '../../src/database/database.ts'

/** All rows by table, as JSON, sorted. */
export type Dump = Record<string, string[]>

/**
 * Returns the contents of a database, without values that clients cannot read. The commit log is excluded, since it depends
 * on how facts were split into batches.
 */
export async function dump(database: Database): Promise<Dump> {
  const tables = await database.query<{ name: string }>(
    {
      name: 'dump_tables',
      text: `select tablename::text as name from pg_tables
        where schemaname = 'public' and tablename not in ('_prisma_migrations', 'data_head', 'commit_log') order by 1`,
    },
    [],
  )
  const all: Dump = {}
  for (const { name } of tables) all[name] = await rowsOf(database, name)
  return all
}

/** Returns the contents without the positions of feeds, which depend on the name and the compression of the source. */
export async function dumpReadModel(database: Database): Promise<Dump> {
  const { feed: _, ...readModel } = await dump(database)
  return readModel
}

/** Returns the differences of two dumps: for each table, an example and the number of missing and of additional rows. */
export function differences(actual: Dump, expected: Dump): string[] {
  const tables = new Set([...Object.keys(actual), ...Object.keys(expected)])
  return [...tables].flatMap((table) => [
    ...describe(table, 'lacks', missingFrom(actual[table], expected[table])),
    ...describe(table, 'has the additional row', missingFrom(expected[table], actual[table])),
  ])
}

/** Returns the rows of the second list that the first one lacks. */
function missingFrom(rows: readonly string[] = [], others: readonly string[] = []): string[] {
  const known = new Set(rows)
  return others.filter((row) => !known.has(row))
}

function describe(table: string, verb: string, [first, ...more]: readonly string[]): string[] {
  return first === undefined ? [] : [`${table} ${verb} ${first}${more.length === 0 ? '' : ` and ${more.length} more`}`]
}

async function rowsOf(database: Database, table: string): Promise<string[]> {
  const rows = await database.query<{ row: string }>(
    {
      name: `dump_${table}`,
      text: `select (t.row - 'vault_id' || jsonb_strip_nulls(jsonb_build_object('vault', address)))::text as row
        from (select ${rowAsJson(table)} as row from "${table}") t left join vault on id = (t.row->>'vault_id')::integer`,
    },
    [],
  )
  return rows
    .map(({ row }) => row)
    .filter((row) => !(table === 'owner_tally' && countsNothing(row)))
    .sort()
}

/**
 * Returns whether all counts of a tally are zero. Such a row remains when the last vault of an owner gets another owner; whether
 * it does depends on the batches.
 */
function countsNothing(row: string): boolean {
  return Object.values(JSON.parse(row) as object).every((value) => typeof value === 'string' || value === 0)
}

/**
 * Returns SQL of a row as JSON, without values that depend on anything but the facts: ids of vaults and ordinals of strategies
 * come from sequences, which have gaps, so that rows of a vault have its address instead, and strategies their rank; `read_until`
 * depends on the clock, and `commit_nonce` on the batches.
 */
function rowAsJson(table: string): string {
  const row = `to_jsonb("${table}")`
  if (table === 'feed') return `${row} - 'read_until'`
  if (table === 'ledger_row') return `${row} - 'commit_nonce'`
  if (table === 'vault') return `${row} - 'id'`
  return table === 'strategy' ? `${row} || jsonb_build_object('ordinal', rank() over (order by ordinal))` : row
}
