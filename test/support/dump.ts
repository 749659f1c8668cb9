import type { Database } from '../../src/database/database.ts'

/** All rows of every table, by table, in the order of their text. */
export type Dump = Record<string, string[]>

/**
 * Contents of the database: equal where two databases are the same to whoever reads them. The log of the commits is left
 * out, which goes by how the facts came.
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

/** The same without the positions of the feeds, which go by where a feed lies and how it is packed. */
export async function dumpReadModel(database: Database): Promise<Dump> {
  const { feed: _, ...readModel } = await dump(database)
  return readModel
}

/** In what one dump isn't as another: for each table how many rows lack or are too many, with one of them. */
export function differences(found: Dump, wanted: Dump): string[] {
  const tables = new Set([...Object.keys(found), ...Object.keys(wanted)])
  return [...tables].flatMap((table) => [
    ...told(table, 'lacks', surplus(wanted[table], found[table])),
    ...told(table, 'has too', surplus(found[table], wanted[table])),
  ])
}

/** The rows of one list that the other hasn't. */
function surplus(rows: readonly string[] = [], others: readonly string[] = []): string[] {
  const known = new Set(others)
  return rows.filter((row) => !known.has(row))
}

function told(table: string, verb: string, [first, ...more]: readonly string[]): string[] {
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

/** Whether a tally has nothing but zeros, as an owner leaves it whose last vault has another one: that goes by the batches. */
function countsNothing(row: string): boolean {
  return Object.values(JSON.parse(row) as object).every((value) => typeof value === 'string' || value === 0)
}

/**
 * A strategy's ordinal comes from a sequence, which leaves gaps: only the order that it gives is read. So does the number of
 * a vault, whose rows are told by its address. Up to when a feed was read goes by the clock, the commit of a ledger row
 * by how the facts came.
 */
function rowAsJson(table: string): string {
  const row = `to_jsonb("${table}")`
  if (table === 'feed') return `${row} - 'read_until'`
  if (table === 'ledger_row') return `${row} - 'commit_nonce'`
  if (table === 'vault') return `${row} - 'id'`
  return table === 'strategy' ? `${row} || jsonb_build_object('ordinal', rank() over (order by ordinal))` : row
}
