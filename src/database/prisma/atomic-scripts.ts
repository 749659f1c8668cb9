import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils'

/** In the same transaction as a migration's script: it is finished exactly where the script is committed. */
const finish = `
do $$ begin
  if to_regclass('_prisma_migrations') is not null then
    update _prisma_migrations set finished_at = now() where finished_at is null and rolled_back_at is null;
  end if;
end $$`

/**
 * An adapter that runs a script of the schema engine whole or not at all. The adapters as they come run it statement
 * by statement on any connection, or without awaiting it, so that a kill would leave half a migration.
 * @param run sends SQL as one simple query, which is one transaction
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
