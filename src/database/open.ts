import type { Database } from './database.ts'
import { migrate } from './prisma/migrations.ts'

/** Database engine to use, with its address. */
export type DatabaseChoice =
  | { readonly engine: 'pglite'; readonly dataDir: string }
  | {
      readonly engine: 'postgresql'
      readonly url: string
      readonly connections: number
      /** Servers that {@link openServedDatabase} reads from instead of `url`. */
      readonly replicas?: { readonly urls: readonly string[]; readonly staleSeconds: number }
    }

/** Read connections to a primary whose replicas serve reads: its migrations are still read. */
const primaryConnections = 2

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

/**
 * Opens a database as {@link openDatabase} does, and reads from its replicas where there are any.
 * @param migrates whether missing migrations are applied
 * @throws {DatabaseRefused} also when a replica belongs to another cluster, or is another database
 */
export async function openServedDatabase(
  choice: DatabaseChoice,
  warn: (message: string) => void = () => undefined,
  migrates = true,
): Promise<Database> {
  const openPrimary = migrates ? openDatabase : open
  if (choice.engine === 'pglite' || choice.replicas === undefined) return openPrimary(choice, warn)
  const { url, connections, replicas } = choice
  const primary = await openPrimary({ ...choice, connections: primaryConnections }, warn)
  try {
    const { openReplicated } = await import('./postgresql/replicas/replicated-database.ts')
    return await openReplicated(primary, url, replicas, connections, warn)
  } catch (error) {
    await primary.close()
    throw error
  }
}

async function open(choice: DatabaseChoice, warn: (message: string) => void): Promise<Database> {
  if (choice.engine === 'pglite') return (await import('./pglite/database.ts')).openPGlite(choice.dataDir)
  return (await import('./postgresql/database.ts')).openPostgreSql(choice.url, choice.connections, warn)
}
