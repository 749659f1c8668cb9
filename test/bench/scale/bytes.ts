import type { Database } from '../../../src/database/database.ts'

/** Disk space of a table and of its indexes. */
export interface TableBytes {
  readonly table: string
  readonly rows: number
  /** Bytes of the table itself with its TOAST data, and of each index, by name. */
  readonly parts: Readonly<Record<string, number>>
}

/** Measures the disk space of all tables of the read model. */
export async function measureBytes(database: Database): Promise<TableBytes[]> {
  const parts = await database.query<{ table: string; part: string; bytes: number }>(
    {
      name: 'bytes_of_parts',
      text: `select owner.relname::text as "table", part.relname::text as part,
          case when part.relkind = 'r' then pg_table_size(part.oid) else pg_relation_size(part.oid) end::float8 as bytes
        from pg_class owner left join pg_index on indrelid = owner.oid join pg_class part on part.oid in (owner.oid, indexrelid)
        where owner.relkind = 'r' and owner.relnamespace = 'public'::regnamespace and owner.relname not like '\\_prisma%'
        group by owner.relname, part.relname, part.relkind, part.oid order by 1, 3 desc`,
    },
    [],
  )
  const result: TableBytes[] = []
  for (const table of new Set(parts.map((part) => part.table))) {
    const own = parts.filter((part) => part.table === table)
    const text = `select count(*)::float8 as rows from "${table}"`
    const [{ rows } = { rows: 0 }] = await database.query<{ rows: number }>({ name: `rows_of_${table}`, text }, [])
    result.push({ table, rows, parts: Object.fromEntries(own.map(({ part, bytes }) => [part, bytes])) })
  }
  return result
}

/** Returns the total bytes of several tables, divided by the number of rows of the first one. */
export function bytesPerRow(tables: readonly TableBytes[], names: readonly string[]): number {
  const selected = tables.filter(({ table }) => names.includes(table))
  const bytes = selected.flatMap(({ parts }) => Object.values(parts)).reduce((sum, part) => sum + part, 0)
  return bytes / (selected.find(({ table }) => table === names[0])?.rows ?? NaN)
}

/** Returns a row for console.table for each table and index, with its bytes per row of the table. */
export function bytesTable(tables: readonly TableBytes[]): object[] {
  return tables
    .filter(({ rows }) => rows > 0)
    .flatMap(({ table, rows, parts }) =>
      Object.entries(parts).map(([part, bytes]) => ({
        table,
        part: part === table ? 'the table' : part,
        rows,
        'bytes per row': (bytes / rows).toFixed(1),
      })),
    )
}
