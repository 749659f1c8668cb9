import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Database } from '../../src/database/database.ts'
import { startSchemaEngine } from '../../src/database/prisma/schema-engine.ts'

const prismaFolder = path.resolve(import.meta.dirname, '../../prisma')
const migrationsFolder = path.join(prismaFolder, 'migrations')

/** Names of all migrations, the oldest first. */
export async function migrationNames(): Promise<string[]> {
  const entries = await readdir(migrationsFolder, { withFileTypes: true })
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()
}

/** Applies the migrations up to one, as the version of the gateway did that had no later ones. */
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

/** Rows by table, as JSON arrays. */
export type TableRows = ReadonlyMap<string, string>

/** Tables that others refer to come first. */
const referred = ['strategy', 'vault']

/** Reads all rows of a database. */
export async function readTables(database: Database): Promise<TableRows> {
  const tables = await tableNames(database)
  const rows = new Map<string, string>()
  for (const name of tables) {
    const text = `select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text as rows from "${name}" t`
    const [found] = await database.query<{ rows: string }>({ name: `rows_of_${name}`, text }, [])
    rows.set(name, found?.rows ?? '[]')
  }
  return rows
}

/** Writes rows of a newer version into the tables and columns that an older database has. */
export async function fillTables(database: Database, rows: TableRows): Promise<void> {
  const tables = await tableNames(database)
  const ordered = [...referred, ...tables.filter((name) => !referred.includes(name))]
  for (const name of ordered) {
    const columns = `select string_agg(quote_ident(attname), ', ' order by attnum) as list from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped`
    const [{ list } = { list: '' }] = await database.prisma.$queryRawUnsafe<{ list: string }[]>(columns, name)
    const insert = `insert into "${name}" (${list}) select ${list} from jsonb_populate_recordset(null::"${name}", $1::jsonb)`
    await database.prisma.$executeRawUnsafe(insert, rows.get(name) ?? '[]')
  }
  await database.prisma.$executeRawUnsafe(
    `select setval(pg_get_serial_sequence('strategy', 'ordinal'), (select max(ordinal) from strategy))`,
  )
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
