import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/open.ts'
import { openPGlite } from '../../../src/database/pglite/database.ts'
import { openPostgreSql } from '../../../src/database/postgresql/database.ts'
import { createOnServer, emptyDatabase, postgresUrl } from '../../support/database.ts'
import { dumpReadModel } from '../../support/dump.ts'
import { everything } from '../../support/everything.ts'
import { prepareHomes } from '../../support/home.ts'
import { fillTables, migrateUpTo, migrationNames, readTables, withoutHistory } from '../../support/older-database.ts'
import { commandLine } from '../../support/process.ts'
import { apply } from '../../support/world.ts'

const { start, run } = commandLine()
const [oldest = ''] = await migrationNames()
const patient = { timeout: 60_000, interval: 50 }

/** Tables that the newest version derives from the facts, and their rows. */
async function current() {
  const database = await emptyDatabase()
  await apply(database, everything)
  return { rows: await readTables(database), dump: await dumpReadModel(database) }
}

describe('a migration whose process is killed', () => {
  const homes = prepareHomes()

  test.skipIf(postgresUrl !== undefined)('is repeated on the embedded database, for any time of the kill', async () => {
    const { rows, dump } = await current()
    const dataDir = `${homes.folder}/older`
    const older = await openPGlite(dataDir)
    await migrateUpTo(older, oldest)
    await fillTables(older, rows)
    await older.close()
    for (const milliseconds of [700, 1_200, 1_700]) {
      const killed = start(['ingest', '-'], { DATA_DIR: dataDir })
      await Promise.race([wait(milliseconds), killed.ended])
      killed.kill('SIGKILL')
      await killed.ended
    }
    expect(await run(['ingest', '-'], { DATA_DIR: dataDir })).toMatchObject({ status: 0 })
    const migrated = await openDatabase({ engine: 'pglite', dataDir })
    expect(withoutHistory(await dumpReadModel(migrated))).toEqual(withoutHistory(dump))
    await migrated.close()
  })

  describe.runIf(postgresUrl !== undefined)('while the server continues', () => {
    test('is waited for by the next process, which applies the others', async () => {
      const { rows, dump } = await current()
      const url = await createOnServer(postgresUrl ?? '')
      const older = await openPostgreSql(url, 2)
      await migrateUpTo(older, oldest)
      await fillTables(older, rows)
      await older.close()
      const holder = new pg.Client({ connectionString: url })
      await holder.connect()
      const waiting = async (kind: 'relation' | 'advisory'): Promise<number> => {
        const text = `select from pg_locks join pg_database on pg_database.oid = database
          where datname = current_database() and locktype = $1 and not granted`
        return (await holder.query(text, [kind])).rowCount ?? 0
      }
      await holder.query('begin; lock table vault in access share mode')
      const killed = start(['ingest', '-'], { DATABASE_URL: url })
      await expect.poll(() => waiting('relation'), patient).toBe(1)
      killed.kill('SIGKILL')
      await killed.ended
      const next = run(['ingest', '-'], { DATABASE_URL: url })
      await expect.poll(() => waiting('advisory'), patient).toBe(1)
      await holder.query('rollback')
      expect(await next).toMatchObject({ status: 0 })
      await holder.end()
      const migrated = await openPostgreSql(url, 2)
      expect(withoutHistory(await dumpReadModel(migrated))).toEqual(withoutHistory(dump))
      await migrated.close()
    })
  })
})
