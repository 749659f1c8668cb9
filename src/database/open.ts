import type { Database } from './database.ts'
import { migrate } from './prisma/migrations.ts'

/** Database engine to use, with its address. */
export type DatabaseChoice =
  | { readonly engine: 'pglite'; readonly dataDir: string }
  | { readonly engine: 'postgresql'; readonly url: string; readonly connections: number }

/**
 * Opens a database and applies missing migrations. Only the chosen engine is loaded.
 * @param warn receives warnings for the operator that do not prevent the start
 * @param onMigrated receives the names of the migrations that were missing
 * @throws {DataDirInUse} when another process has the embedded database open
 * @throws {DataDirUnusable} when the data directory cannot be created, read or written
 * @throws {DatabaseUnreachable} when the PostgreSQL server cannot be used
 * @throws {DatabaseRefused} when migrations are missing and the role may not apply them
 */
export async function openDatabase(
  choice: DatabaseChoice,
  warn: (message: string) => void = () => undefined,
  onMigrated: (names: readonly string[]) => void = () => undefined,
): Promise<Database> {
  const database = await open(choice, warn)
  try {
    onMigrated(await migrate(database))
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

async function open(choice: DatabaseChoice, warn: (message: string) => void): Promise<Database> {
  if (choice.engine === 'pglite') return (await import('./pglite/database.ts')).openPGlite(choice.dataDir)
  return (await import('./postgresql/database.ts')).openPostgreSql(choice.url, choice.connections, warn)
}
