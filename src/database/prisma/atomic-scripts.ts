import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'

/** Marks the migration as finished in the same transaction as its script, so that neither happens without the other. */
const finish = `
do $$ begin
  if to_regclass('_prisma_migrations') is not null then
    update _prisma_migrations set finished_at = now() where finished_at is null and rolled_back_at is null;
  end if;
end $$`

/**
 * Wraps a driver adapter so that a script of the schema engine is atomic. The original adapters run it statement by
 * statement on any connection, or without awaiting it, so that a crash would leave half a migration.
 * @param run sends SQL as one simple query, which is one transaction
 * @see PostgreSQL documentation, "Message Flow", section "Multiple Statements in a Simple Query"
 */
export function atomicScripts(
  factory: SqlMigrationAwareDriverAdapterFactory,
  run: (sql: string) => Promise<unknown>,
): SqlMigrationAwareDriverAdapterFactory {
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connectToShadowDb: () => factory.connectToShadowDb(),
    connect: async () => {
      const connection = await factory.connect()
      connection.executeScript = async (script) => void (await run(`${script};${finish}`))
      return connection
    },
  }
}
