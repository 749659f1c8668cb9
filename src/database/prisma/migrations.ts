import { readdir, readFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import path from 'node:path'
import type { MigrationList } from '@prisma/schema-engine-wasm'
import type { Cancellation } from '../cancellation.ts'
import type { Database } from '../database.ts'
import { isReadOnly, refusalOfMigrations, refusalOfReadOnly } from '../permissions.ts'
import { startSchemaEngine } from './schema-engine.ts'

/** The project's prisma folder, found from this file both in src/ and in a build. */
const prismaFolder = findAbove(import.meta.dirname, 'prisma/schema.prisma')
const migrationsFolder = path.join(prismaFolder, 'migrations')
const filters = { externalTables: [], externalEnums: [] }

/**
 * Applies the missing migrations of prisma/migrations by Prisma's schema engine. Several processes may call it at once.
 * @returns names of the applied migrations
 * @throws {DatabaseRefused} when migrations are missing and the server is read-only, or the role lacks permissions
 */
export async function migrate(database: Database): Promise<string[]> {
  try {
    return await applyMissing(database)
  } catch (error) {
    throw (await refusalOfMigrations(database, error)) ?? error
  }
}

async function applyMissing(database: Database): Promise<string[]> {
  const migrationsList = await readMigrations()
  const names = migrationsList.migrationDirectories.map(({ path: name }) => name)
  if (await areApplied(database, names)) return []
  if (await isReadOnly(database)) throw await refusalOfReadOnly(database)
  return database.exclusively(() =>
    database.withEngineAdapter(async (adapter) => {
      // Another process may have applied them in the meantime, or the server for one that was killed.
      if (await areApplied(database, names)) return []
      await markInterruptedRolledBack(database)
      const engine = await startSchemaEngine(adapter, await readDatamodel())
      return (await engine.applyMigrations({ migrationsList, filters })).appliedMigrationNames
    }),
  )
}

/**
 * Returns the SQL by which schema.prisma differs from the migrations. It is computed on an embedded database for either
 * engine, because the adapter for PostgreSQL cannot read the engine's introspection queries.
 * @param datamodel text of schema.prisma, instead of the file's
 * @returns empty where they agree
 */
export async function drift(datamodel?: string): Promise<string> {
  const { openPGlite } = await import('../pglite/database.ts')
  const database = await openPGlite()
  try {
    await migrate(database)
    const files = [{ path: 'schema.prisma', content: datamodel ?? (await readDatamodel()) }]
    const { stdout } = await database.withEngineAdapter(async (adapter) => {
      const engine = await startSchemaEngine(adapter, await readDatamodel())
      const from = { tag: 'schemaDatasource' as const, files, configDir: prismaFolder }
      return engine.diff({ from, to: { tag: 'schemaDatamodel', files }, script: true, exitCode: null, filters })
    })
    return (stdout ?? '').replace('-- This is an empty migration.', '').trim()
  } finally {
    await database.close()
  }
}

/**
 * Marks an unfinished migration as rolled back. It left nothing behind, because its script is one transaction, and no
 * session runs it any more.
 */
async function markInterruptedRolledBack(database: Database): Promise<void> {
  if (!(await hasMigrationsTable(database))) return
  await database.prisma.$executeRawUnsafe(
    'update _prisma_migrations set rolled_back_at = now() where finished_at is null and rolled_back_at is null',
  )
}

async function hasMigrationsTable(database: Database, signal?: Cancellation): Promise<boolean> {
  const [table] = await database.query<{ exists: boolean }>(
    { name: 'migrations_table', text: `select to_regclass('_prisma_migrations') is not null as exists` },
    [],
    signal,
  )
  return table?.exists === true
}

/** Names of the migrations that this process needs; undefined until they are read or set. */
let needed: readonly string[] | undefined

/** Returns the names of the migrations that this process needs: those that existed at the first call. */
export async function neededMigrations(): Promise<readonly string[]> {
  needed ??= await migrationNames()
  return needed
}

/** Sets the migrations that this process needs, instead of those that exist now. */
export function needMigrations(names: readonly string[]): void {
  needed = names
}

/**
 * Returns the names of migrations that this version needs and the database lacks.
 * @param signal cancels the reads, so that they hold no connection to a server that has vanished
 */
export async function missingMigrations(database: Database, signal?: Cancellation): Promise<string[]> {
  const applied = await appliedMigrations(database, signal)
  return (await neededMigrations()).filter((name) => !applied.includes(name))
}

/**
 * Returns whether all migrations are applied. Avoids starting the schema engine, which is most of the time of a warm
 * start.
 */
async function areApplied(database: Database, names: readonly string[]): Promise<boolean> {
  const applied = await appliedMigrations(database)
  return names.every((name) => applied.includes(name))
}

async function appliedMigrations(database: Database, signal?: Cancellation): Promise<string[]> {
  if (!(await hasMigrationsTable(database, signal))) return []
  const applied = await database.query<{ name: string }>(
    {
      name: 'migrations_applied',
      text: 'select migration_name as name from _prisma_migrations where finished_at is not null and rolled_back_at is null',
    },
    [],
    signal,
  )
  return applied.map(({ name }) => name)
}

async function migrationNames(): Promise<string[]> {
  const entries = await readdir(migrationsFolder, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
}

async function readMigrations(): Promise<MigrationList> {
  const names = await migrationNames()
  const script = (name: string) => readFile(path.join(migrationsFolder, name, 'migration.sql'), 'utf8')
  return {
    baseDir: migrationsFolder,
    lockfile: {
      path: 'migration_lock.toml',
      content: await readFile(path.join(migrationsFolder, 'migration_lock.toml'), 'utf8'),
    },
    shadowDbInitScript: '',
    migrationDirectories: await Promise.all(
      names.map(async (name) => ({
        path: name,
        migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value: await script(name) } },
      })),
    ),
  }
}

function readDatamodel(): Promise<string> {
  return readFile(path.join(prismaFolder, 'schema.prisma'), 'utf8')
}

/** @returns the folder of a file, searched in this folder and its ancestors */
function findAbove(folder: string, file: string): string {
  const found = path.join(folder, file)
  if (existsSync(found)) return path.dirname(found)
  const above = path.dirname(folder)
  if (above === folder) throw new Error(`There is no ${file} above the program.`)
  return findAbove(above, file)
}
