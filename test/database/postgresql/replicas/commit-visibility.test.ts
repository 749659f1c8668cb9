import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Database } from '../../../../src/database/database.ts'
import { openDatabase } from '../../../../src/database/open.ts'
import { PrimaryLog } from '../../../../src/database/postgresql/replicas/primary-log.ts'
import { Replica } from '../../../../src/database/postgresql/replicas/replica.ts'
import { ReportedState } from '../../../../src/database/postgresql/replicas/reported-state.ts'
import { createOnServer, postgresUrl } from '../../../support/database.ts'
import { noOwnPostgreSql, type OwnPostgreSql, startOwnPostgreSql } from '../../../support/own-postgresql.ts'
import { apply, strategy } from '../../../support/world.ts'

const patience = { timeout: 15_000, interval: 20 }

describe.skipIf(postgresUrl === undefined || noOwnPostgreSql !== null)('a healthy replica', () => {
  let server: OwnPostgreSql
  let standby: OwnPostgreSql
  let writing: Database
  let onPrimary: pg.Client
  let onStandby: pg.Client
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
    const standbyUrl = Object.assign(new URL(standby.url), { pathname: new URL(url).pathname }).href
    replica = new Replica(standbyUrl, () => undefined)
    onStandby = new pg.Client({ connectionString: standbyUrl })
    await onStandby.connect()
  }, 120_000)
  beforeEach(async () => {
    // Compared twice, at a position that it reaches.
    await expect.poll(async () => (await check(), await check()), patience).toBeNull()
  })
  afterEach(() => configure({}))
  afterAll(async () => {
    primary.close()
    replica.release()
    for (const client of [onStandby, onPrimary]) await client.end()
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

  /** Compares the replica with the primary, like each check. */
  async function check(): Promise<string | null> {
    await replica.check(primary.identity, await primary.ask(), null)
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
        await replica.check(primary.identity, target, null)
        return replica.problem ?? (replica.proof.provenAt === target?.at ? 'proved' : 'not proved')
      }, patience)
      .toBe('proved')
  })

  test('is not rejected for a commit that is not visible on the primary yet, and the commit is not treated as lost', async () => {
    await configure({ synchronous_standby_names: 'nobody' })
    const [{ seq: before } = { seq: 0 }] = await heads(onPrimary)
    const pending = apply(writing, [strategy('pending')])
    await expect.poll(async () => (await heads(onStandby))[0]?.seq, patience).toBe(before + 1)
    expect(await heads(onPrimary)).toMatchObject([{ seq: before }])
    for (const _ of [1, 2, 3]) expect(await check()).toBeNull()

    const reported = new ReportedState()
    const [{ version } = { version: '' }] = await heads(onStandby)
    reported.committed(version, replica.followedRun)
    const target = await primary.ask()
    if (target === null) throw new Error('the primary told no position')
    await reported.verify(target, primary.contains.bind(primary))
    expect(reported.head?.version).toBe(version)
    // Another server, which has become the primary, and lacks it.
    await reported.verify({ ...target, run: 'another' }, primary.contains.bind(primary))
    expect(reported.head).toBeNull()

    await configure({})
    await pending
    expect(await heads(onPrimary)).toMatchObject([{ version }])
  })
})

async function heads(client: pg.Client): Promise<{ seq: number; version: string }[]> {
  return (await client.query<{ seq: number; version: string }>('select seq::float8 as seq, version from data_head'))
    .rows
}
