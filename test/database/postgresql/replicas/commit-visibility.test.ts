import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Database } from '../../../../src/database/database.ts'
import { openDatabase } from '../../../../src/database/open.ts'
import { PrimaryLog } from '../../../../src/database/postgresql/replicas/primary-log.ts'
import { Replica } from '../../../../src/database/postgresql/replicas/replica.ts'
import { createOnServer, postgresUrl } from '../../../support/database.ts'
import { noOwnPostgreSql, type OwnPostgreSql, startOwnPostgreSql } from '../../../support/own-postgresql.ts'
import { apply, strategy } from '../../../support/world.ts'

const patience = { timeout: 15_000, interval: 20 }

describe.skipIf(postgresUrl === undefined || noOwnPostgreSql !== null)('a healthy replica', () => {
  let server: OwnPostgreSql
  let standby: OwnPostgreSql
  let writing: Database
  let onPrimary: pg.Client
  let primary: PrimaryLog
  let replica: Replica

  beforeAll(async () => {
    server = await startOwnPostgreSql()
    const url = await createOnServer(server.url)
    writing = await openDatabase({ engine: 'postgresql', url, connections: 2 })
    await apply(writing, [strategy('first')])
    onPrimary = new pg.Client({ connectionString: url })
    await onPrimary.connect()
    standby = await server.standby()
    primary = new PrimaryLog(url, () => undefined)
    replica = new Replica(
      Object.assign(new URL(standby.url), { pathname: new URL(url).pathname }).href,
      () => undefined,
    )
  }, 120_000)
  beforeEach(async () => {
    // Asked twice, at a position that it reaches.
    await expect.poll(async () => (await check(), await check()), patience).toBeNull()
  })
  afterEach(() => configure({}))
  afterAll(async () => {
    primary.close()
    replica.release()
    await onPrimary.end()
    await writing.close()
    for (const each of [standby, server]) await each.remove()
  })

  async function configure(settings: Readonly<Record<string, string>>): Promise<void> {
    await onPrimary.query('alter system reset all')
    for (const [name, value] of Object.entries(settings)) {
      await onPrimary.query(`alter system set ${name} = '${value}'`)
    }
    await onPrimary.query('select pg_reload_conf()')
    for (const [name, value] of Object.entries(settings)) {
      const current = async (): Promise<unknown> =>
        (await onPrimary.query<{ value: string }>('select setting as value from pg_settings where name = $1', [name]))
          .rows[0]?.value
      await expect.poll(current, patience).toBe(value)
    }
  }

  /** Compares the replica with the primary, as each round does. */
  async function check(): Promise<string | null> {
    await replica.check(primary.system, await primary.ask(), null)
    return replica.problem
  }

  test('is not rejected for a commit that is visible on the primary before its record is written', async () => {
    await configure({ synchronous_commit: 'off', wal_writer_delay: '10000' })
    for (const name of ['second', 'third', 'fourth']) {
      await apply(writing, [strategy(name)])
      expect(await check()).toBeNull()
    }
    await configure({})
    await apply(writing, [strategy('written')])
    await expect
      .poll(async () => {
        const target = await primary.ask()
        await replica.check(primary.system, target, null)
        return replica.problem ?? (replica.proof.provenAt === target?.at ? 'proved' : 'not proved')
      }, patience)
      .toBe('proved')
  })
})
