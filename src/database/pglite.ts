import { mkdir, realpath } from 'node:fs/promises'
import { PGlite } from '@electric-sql/pglite'
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import { transactionLimits, type Database } from './database.ts'
import { PrismaClient } from './generated/client/client.ts'
import { lockFolder } from './lock.ts'

/**
 * Opens the embedded database. It belongs to one process: a folder that another one has open is refused.
 * @param dataDir its folder, created where it is missing; in memory where none is given
 * @throws {DataDirInUse}
 */
export async function openPGlite(dataDir?: string): Promise<Database> {
  if (dataDir === undefined) return onPGlite(await PGlite.create(), () => Promise.resolve())
  await mkdir(dataDir, { recursive: true })
  const release = await lockFolder(await realpath(dataDir))
  try {
    return onPGlite(await PGlite.create({ dataDir }), release)
  } catch (error) {
    await release()
    throw error
  }
}

/** The interface over a PGlite that is open already. */
export function onPGlite(pglite: PGlite, release: () => Promise<void>): Database {
  const adapter = awaitScripts(new PrismaPGlite(pglite), pglite)
  const prisma = new PrismaClient({ adapter })
  return {
    engine: 'pglite',
    prisma,
    adapter,
    query: async <Row>(statement: { text: string }, values: readonly unknown[]) =>
      (await pglite.query<Row>(statement.text, [...values])).rows,
    transaction: (work) => prisma.$transaction(work, transactionLimits),
    exclusively: (work) => work(),
    close: async () => {
      await prisma.$disconnect()
      await pglite.close()
      await release()
    },
  }
}

/** The adapter starts a script without awaiting it, so that a failing migration would end the process unexplained. */
function awaitScripts(
  factory: SqlMigrationAwareDriverAdapterFactory,
  pglite: PGlite,
): SqlMigrationAwareDriverAdapterFactory {
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connectToShadowDb: () => factory.connectToShadowDb(),
    connect: async () => {
      const connection = await factory.connect()
      connection.executeScript = async (script) => {
        await pglite.exec(script)
      }
      return connection
    },
  }
}
