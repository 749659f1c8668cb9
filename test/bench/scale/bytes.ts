import type { Database } from '../../../src/database/database.ts'

/** A table, and what it takes with its indexes. */
export interface TableBytes {
  readonly table: string
  readonly rows: number
  /** Of the table with what it stores out of line, and of each index by its name. */
  readonly parts: Readonly<Record<string, number>>
}

/** Measures what the tables of the read model take on disk. */
export async function measureBytes(database: Database): Promise<TableBytes[]> {
  const parts = await database.query<{ table: string; part: string; bytes: number }>(
    {
      name: 'bytes_of_parts',
      text: `select held.relname::text as "table", part.relname::text as part,
          case when part.relkind = 'r' then pg_table_size(part.oid) else pg_relation_size(part.oid) end::float8 as bytes
        from pg_class held left join pg_index on indrelid = held.oid join pg_class part on part.oid in (held.oid, indexrelid)
        where held.relkind = 'r' and held.relnamespace = 'public'::regnamespace and held.relname not like '\\_prisma%'
        group by held.relname, part.relname, part.relkind, part.oid order by 1, 3 desc`,
    },
    [],
  )
  const found: TableBytes[] = []
  for (const table of new Set(parts.map((part) => part.table))) {
    const held = parts.filter((part) => part.table === table)
    const text = `select count(*)::float8 as rows from "${table}"`
    const [{ rows } = { rows: 0 }] = await database.query<{ rows: number }>({ name: `rows_of_${table}`, text }, [])
    found.push({ table, rows, parts: Object.fromEntries(held.map(({ part, bytes }) => [part, bytes])) })
  }
  return found
}

/** Returns the bytes of some tables, all together, for each row of the first. */
export function bytesEach(tables: readonly TableBytes[], names: readonly string[]): number {
  const wanted = tables.filter(({ table }) => names.includes(table))
  const bytes = wanted.flatMap(({ parts }) => Object.values(parts)).reduce((sum, part) => sum + part, 0)
  return bytes / (wanted.find(({ table }) => table === names[0])?.rows ?? NaN)
}

/** Returns a row for each table and index, with its bytes for each row of the table. */
export function bytesTable(tables: readonly TableBytes[]): object[] {
  return tables
    .filter(({ rows }) => rows > 0)
    .flatMap(({ table, rows, parts }) =>
      Object.entries(parts).map(([part, bytes]) => ({
        table,
        part: part === table ? 'the table' : part,
        rows,
        'bytes a row': (bytes / rows).toFixed(1),
      })),
    )
}
