import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Database } from '../../src/database/database.ts'
import { startSchemaEngine } from '../../src/database/prisma/schema-engine.ts'
import { Decimal } from '../../src/domain/decimal.ts'
import { runScript } from './database.ts'
import type { Dump } from './dump.ts'

const prismaFolder = path.resolve(import.meta.dirname, '../../prisma')
const migrationsFolder = path.join(prismaFolder, 'migrations')

/** Returns the names of all migrations, oldest first. */
export async function migrationNames(): Promise<string[]> {
  const entries = await readdir(migrationsFolder, { withFileTypes: true })
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()
}

/** Applies the migrations up to one, as an older version of the gateway did. */
export async function migrateUpTo(database: Database, last: string): Promise<void> {
  const names = (await migrationNames()).filter((name) => name <= last)
  const migrationsList = {
    baseDir: migrationsFolder,
    lockfile: { path: 'migration_lock.toml', content: await read('migrations/migration_lock.toml') },
    shadowDbInitScript: '',
    migrationDirectories: await Promise.all(
      names.map(async (name) => ({
        path: name,
        migrationFile: {
          path: 'migration.sql',
          content: { tag: 'ok' as const, value: await read(`migrations/${name}/migration.sql`) },
        },
      })),
    ),
  }
  const datamodel = await read('schema.prisma')
  await database.withEngineAdapter(async (adapter) => {
    const engine = await startSchemaEngine(adapter, datamodel)
    await engine.applyMigrations({ migrationsList, filters: { externalTables: [], externalEnums: [] } })
  })
}

/** Rows by table, as JSON arrays; those of a vault have its address, and those with a value have their net of flows. */
export type TableRows = ReadonlyMap<string, string>

/** Tables that others reference, which are filled first. */
const referencedTables = ['strategy', 'vault']

/** Reads all rows of a database. */
export async function readTables(database: Database): Promise<TableRows> {
  const tables = await tableNames(database)
  const rows = new Map<string, string>()
  for (const name of tables) {
    const text = `select coalesce(jsonb_agg(t.row || jsonb_strip_nulls(jsonb_build_object('vault_address', address,
        'net_usd', (t.row->>'value_usd')::numeric + (t.row->>'capital_out_usd')::numeric - (t.row->>'capital_in_usd')::numeric
      ))), '[]')::text as rows
      from (select to_jsonb(t) as row from "${name}" t) t left join vault on id = (t.row->>'vault_id')::integer`
    const [found] = await database.query<{ rows: string }>({ name: `rows_of_${name}`, text }, [])
    rows.set(name, found?.rows ?? '[]')
  }
  return rows
}

/** Inserts rows of a newer version into the tables and columns that an older database has. */
export async function fillTables(database: Database, rows: TableRows): Promise<void> {
  const tables = await tableNames(database)
  const ordered = [...referencedTables, ...tables.filter((name) => !referencedTables.includes(name))]
  const isOld = tables.includes('equity_bucket')
  for (const name of ordered.filter((table) => !(isOld && table === 'equity_page'))) {
    const text = `select attname::text as name, atttypid::regtype::text as type from pg_attribute
      where attrelid = '"${name}"'::regclass and attnum > 0 and not attisdropped`
    const columns = await database.query<{ name: string; type: string }>({ name: `columns_of_${name}`, text }, [])
    const list = columns.map((column) => `"${column.name}"`).join(', ')
    const insert = `insert into "${name}" (${list}) select ${columns.map(olderValue).join(', ')}
      from jsonb_populate_recordset(null::"${name}", $1::jsonb)`
    const json = rows.get(name) ?? '[]'
    const isOlderPage = name === 'equity_page' && !tables.includes('vault_change')
    await database.prisma.$executeRawUnsafe(insert, isOlderPage ? olderPages(json) : json)
  }
  await fillBuckets(database, tables)
  for (const [table, column] of [
    ['strategy', 'ordinal'],
    ['vault', 'id'],
  ] as const) {
    await runScript(
      database,
      `do $$ begin perform setval(pg_get_serial_sequence('${table}', '${column}'), (select max("${column}") from "${table}"));
        exception when undefined_column then null; end $$`,
    )
  }
}

/** Returns pages in the format before history: their lines have the value of a point instead of its market delta. */
function olderPages(rows: string): string {
  const pages = JSON.parse(rows) as { candidates: string }[]
  const older = (line: string): string => {
    const [ts, netUsd = '', capitalInUsd = '', capitalOutUsd = ''] = line.split(' ')
    const valueUsd = new Decimal(netUsd).plus(capitalInUsd).minus(capitalOutUsd).toFixed()
    return [ts, netUsd, valueUsd, capitalInUsd, capitalOutUsd].join(' ')
  }
  return JSON.stringify(
    pages.map((page) => ({ ...page, candidates: page.candidates.split('\n').map(older).join('\n') })),
  )
}

/** Tables and columns that are empty for the time before the migration to history. */
const historyTables = ['position_layout', 'vault_change', 'equity_curve_page']
const historyColumns = ['history_since', 'marked_at', 'changed_at', 'layout_digest', 'market_delta_usd', 'state']

/** Returns a dump without the tables and columns of history. */
export function withoutHistory(dump: Dump): Dump {
  const others = Object.entries(dump).filter(([table]) => !historyTables.includes(table))
  return Object.fromEntries(
    others.map(([table, rows]) => [table, rows.map((row) => JSON.stringify(rowWithoutHistory(table, row))).sort()]),
  )
}

function rowWithoutHistory(table: string, text: string): object {
  const row = JSON.parse(text) as Record<string, unknown>
  if (table === 'equity_page') return { ...row, candidates: String(row['candidates']).replace(/ [^ \n]*$/gm, '') }
  // The market delta of a vault is its current one, which is not history.
  const excluded = historyColumns.filter((column) => !(table === 'vault' && column === 'market_delta_usd'))
  return Object.fromEntries(Object.entries(row).filter(([column]) => !excluded.includes(column)))
}

/** Returns SQL that converts bytes of the newest version to the text of hexadecimal or base64 digits of older ones. */
function olderValue({ name, type }: { name: string; type: string }): string {
  if (type !== 'text') return `"${name}"`
  if (name === 'tx_hash') return `'0x' || substr(tx_hash, 3)`
  if (name !== 'digest' && name !== 'mark_digest') return `"${name}"`
  return `rpad(translate(encode(decode(substr(${name}, 3), 'hex'), 'base64'), '+/=', '-_'), 22, 'A')`
}

/** Fills the buckets and pages of older versions, by the SQL of the migrations that created them. */
async function fillBuckets(database: Database, tables: readonly string[]): Promise<void> {
  for (const [name, table] of [
    ['20261120120000_equity_buckets', 'equity_bucket'],
    ['20261121120000_equity_pages', 'equity_page'],
  ] as const) {
    if (!tables.includes('equity_bucket') || !tables.includes(table)) continue
    const sql = await read(`migrations/${name}/migration.sql`)
    await runScript(database, sql.slice(sql.indexOf(`INSERT INTO "${table}"`)))
  }
}

async function tableNames(database: Database): Promise<string[]> {
  const text = `select tablename::text as name from pg_tables
    where schemaname = 'public' and tablename <> '_prisma_migrations' order by 1`
  const found = await database.query<{ name: string }>({ name: 'table_names', text }, [])
  return found.map(({ name }) => name)
}

function read(file: string): Promise<string> {
  return readFile(path.join(prismaFolder, file), 'utf8')
}
