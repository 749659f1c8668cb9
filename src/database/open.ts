import type { Database } from './database.ts'
import { migrate } from './prisma/migrations.ts'

export type DatabaseChoice =
  | { readonly engine: 'pglite'; readonly dataDir: string }
  | { readonly engine: 'postgresql'; readonly url: string; readonly connections: number }

/**
 * Opens the database that was chosen, with all migrations applied. Only the engine in use is loaded.
 * @param warn is told of what an operator should know, and needs no end
 * @throws {DataDirInUse} where another process has the embedded one
 */
export async function openDatabase(
  choice: DatabaseChoice,
  warn: (message: string) => void = () => undefined,
): Promise<Database> {
  const database = await open(choice, warn)
  try {
    await migrate(database)
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
