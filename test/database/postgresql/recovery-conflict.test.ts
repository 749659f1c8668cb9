import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Database, Read, VersionedReader } from '../../../src/database/database.ts'
import { openDatabase } from '../../../src/database/open.ts'
import { openPostgreSql } from '../../../src/database/postgresql/database.ts'
import { createOnServer, postgresUrl, readingBy } from '../../support/database.ts'
import { defaultHttpLimits } from '../../../src/limits.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { noOwnPostgreSql, type OwnPostgreSql, startOwnPostgreSql } from '../../support/own-postgresql.ts'
import { apply, deposit, mark, midnight, opened, position, strategy, vaultA } from '../../support/world.ts'

const facts = [
  strategy('one'),
  opened(vaultA, 'one'),
  deposit(vaultA, midnight + 10, '100'),
  mark(vaultA, midnight + 20, '101', { positions: [position('p')] }),
]
const slow: Read = {
  name: 'slow',
  text: `select pg_sleep(20), (select version from data_head) as "dataVersion"`,
  dependsOn: 'universe',
}
const graphql = `{ vault(address: "${vaultA}") { valueUsd positions { pendingRewardsUsd } } }`

describe.skipIf(postgresUrl === undefined || noOwnPostgreSql !== null)('a snapshot on a standby', () => {
  let primary: OwnPostgreSql
  let standby: OwnPostgreSql
  let onPrimary: pg.Client
  let onStandby: pg.Client
  let database: Database

  beforeAll(async () => {
    primary = await startOwnPostgreSql()
    const url = await createOnServer(primary.url)
    const writing = await openDatabase({ engine: 'postgresql', url, connections: 2 })
    await apply(writing, facts)
    await writing.close()
    onPrimary = new pg.Client({ connectionString: url })
    await onPrimary.connect()
    await onPrimary.query('create table rows as select * from generate_series(1, 100) as n')
    standby = await primary.standby()
    const replica = Object.assign(new URL(standby.url), { pathname: new URL(url).pathname }).href
    onStandby = new pg.Client({ connectionString: replica })
    await onStandby.connect()
    await onStandby.query('alter system set max_standby_streaming_delay = 0')
    await onStandby.query('select pg_reload_conf()')
    database = await openPostgreSql(replica, 4)
  }, 120_000)
  afterAll(async () => {
    await database.close()
    await onStandby.end()
    await standby.remove()
    await onPrimary.end()
    await primary.remove()
  })

  /** Numbers of snapshots that still have to conflict, and that have begun. */
  let left = 0
  let begun = 0
  beforeEach(() => {
    begun = 0
  })

  async function sessions(condition: string): Promise<number> {
    const text = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and ${condition}`
    return (await onStandby.query(text)).rowCount ?? 0
  }

  /**
   * Removes rows that a snapshot may see, until the standby has ended what these sessions do. It may have ended it before
   * the sessions are seen, since it also replays, late, what removed rows for the snapshot before.
   */
  async function conflict(condition: string, isEnded: () => boolean = () => false): Promise<void> {
    const isSeen = async (): Promise<boolean> => isEnded() || (await sessions(condition)) === 1
    await expect.poll(isSeen, { timeout: 20_000 }).toBe(true)
    const isOver = async (): Promise<boolean> => {
      await onPrimary.query('update rows set n = n')
      await onPrimary.query('vacuum rows')
      return (await sessions(condition)) === 0
    }
    await expect.poll(isOver, { timeout: 20_000 }).toBe(true)
  }

  /** While a statement of the snapshot runs, or between two. */
  const conflicts = {
    running: async (reader: VersionedReader): Promise<void> => {
      let isEnded = false
      reader.read(slow, []).catch(() => (isEnded = true))
      await conflict(`wait_event = 'PgSleep'`, () => isEnded)
    },
    idle: () => conflict(`state = 'idle in transaction'`),
  }

  /** Returns a gateway that repeats each operation in a snapshot, which has conflicts after its first read. */
  function gatewayWith(kind: keyof typeof conflicts): TestGateway {
    let isFirst = true
    const tornReads: Database = {
      ...readingBy(database, async (read, values, signal, reader) => ({
        ...(await reader.read(read, values, signal)),
        version: null,
      })),
      snapshot: (work, signal, isLong) =>
        database.snapshot(
          (reader) => {
            begun++
            isFirst = true
            return work({
              read: async (read, values) => {
                const found = await reader.read(read, values)
                if (isFirst && left > 0) {
                  isFirst = false
                  left--
                  await conflicts[kind](reader)
                }
                return found as never
              },
            })
          },
          signal,
          isLong,
        ),
    }
    // A slow server ends the reads of both attempts late.
    return gatewayOn(tornReads, { limits: { ...defaultHttpLimits, answerSeconds: 50 } })
  }

  describe.each(['running', 'idle'] as const)('that replay ends while it is %s', (kind) => {
    test('is retried once', async () => {
      left = 1
      const gateway = gatewayWith(kind)
      const response = await gateway.get(`/vault/${vaultA}/snapshot`)
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({ valueUsd: 101, positions: [{ pendingRewardsUsd: 1.5 }] })
      expect({ left, begun }).toEqual({ left: 0, begun: 2 })
      left = 1
      expect(await gateway.query(graphql)).toEqual({
        vault: { valueUsd: 101, positions: [{ pendingRewardsUsd: 1.5 }] },
      })
      expect({ left, begun }).toEqual({ left: 0, begun: 4 })
      expect(gateway.reported).toEqual([])
    })

    test('is unavailable for a while where the retry is ended too', async () => {
      left = 9
      const gateway = gatewayWith(kind)
      const rest = await gateway.get(`/vault/${vaultA}/snapshot`)
      expect([rest.status, rest.headers.get('retry-after')]).toEqual([503, '2'])
      expect(await rest.json()).toMatchObject({ type: 'urn:vault-gateway:problem:database-unavailable' })
      const posted = await gateway.post(graphql)
      expect([posted.status, posted.headers.get('retry-after')]).toEqual([503, '2'])
      const { errors } = (await posted.json()) as { errors: { extensions: { code: string } }[] }
      expect(errors.map(({ extensions }) => extensions.code)).toEqual(['DATABASE_UNAVAILABLE'])
      expect({ left, begun }).toEqual({ left: 5, begun: 4 })
      expect(gateway.reported).toEqual([])
      left = 0
      expect((await gateway.get(`/vault/${vaultA}/snapshot`)).status).toBe(200)
    })
  })
})
