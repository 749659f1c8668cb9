import pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/database/database.ts'
import { eachPool, openReadPools, poolsOf } from '../../../src/database/postgresql/read-pools.ts'
import { openDatabase } from '../../../src/database/open.ts'
import { readFeedPosition, saveFeedPosition } from '../../../src/database/write/feed.ts'
import { createOnServer, postgresUrl } from '../../support/database.ts'

const limit = 4
const statement = {
  name: 'slow',
  text: 'select pg_sleep(0.2), count(*)::int as own from pg_stat_activity where usename = current_user',
}

describe.runIf(postgresUrl !== undefined)('a role with a lower connection limit than configured', () => {
  let url: string
  let role: string
  let asRole: string
  let database: Database
  let warnings: string[]

  const onDatabase = async (sql: string): Promise<void> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(sql)
    await client.end()
  }

  beforeEach(async () => {
    url = await createOnServer(postgresUrl ?? '')
    role = `role_${new URL(url).pathname.slice(1)}`
    await onDatabase(`create role ${role} login connection limit ${limit}; grant create on schema public to ${role}`)
    warnings = []
    asRole = Object.assign(new URL(url), { username: role }).toString()
    database = await openDatabase({ engine: 'postgresql', url: asRole, connections: 20 }, (message) =>
      warnings.push(message),
    )
    return async () => {
      await database.close()
      await onDatabase(`drop owned by ${role}; drop role ${role}`)
    }
  })

  const reads = (count: number): Promise<{ own: number }[][]> =>
    Promise.all(Array.from({ length: count }, () => database.query<{ own: number }>(statement, [])))

  test('serves all reads on the available connections, and warns once', async () => {
    const answers = await reads(40)
    expect(answers.every(([row]) => row !== undefined && row.own <= limit)).toBe(true)
    await reads(10)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(/gives this process no more connections.* up to 20 for reads.*DATABASE_CONNECTIONS/)
  })

  test('writes while reads use all connections', async () => {
    await reads(20)
    const reading = reads(40)
    const position = { line: 1, byte: 1, fingerprint: 'f' }
    await database.transaction((transaction) => Promise.resolve(saveFeedPosition(transaction, 'a', null, position)))
    expect(await readFeedPosition(database.prisma, 'a')).toEqual(position)
    expect(await reading).toHaveLength(40)
  })

  describe.each([
    ['long reads', 'short', 'long'],
    ['short reads', 'long', 'short'],
  ] as const)('serves %s', (_, holding, asking) => {
    test(`where those of the ${holding} ones have all of them, by one of these, however many wait`, async () => {
      // Four of the twenty are for long reads.
      const pools = openReadPools(
        poolsOf(asRole, 20, () => undefined),
        20,
      )
      const slow = 'select pg_sleep(0.1)'
      try {
        const holdAll = async (): Promise<number> => {
          await Promise.all(Array.from({ length: limit }, () => pools[holding].query(slow)))
          return pools[holding].totalCount
        }
        // The server may still count connections that the test before has closed.
        await expect.poll(holdAll, { timeout: 10_000 }).toBeGreaterThan(1)
        const all = await holdAll()
        await Promise.all(Array.from({ length: 20 }, () => pools[asking].query(slow)))
        expect([pools[holding].totalCount, pools[asking].totalCount]).toEqual([all - 1, 1])
        await Promise.all([pools[holding].query(slow), pools[asking].query(slow)])
      } finally {
        await Promise.all(eachPool(pools).map((pool) => pool.end()))
      }
    })
  })

  /** Limits the connections of the role to this number, besides those of a gateway. */
  async function leave(connections: number): Promise<() => Promise<unknown>> {
    const taken: pg.Client[] = []
    for (;;) {
      const client = new pg.Client({ connectionString: asRole })
      try {
        await client.connect()
        taken.push(client)
      } catch (error) {
        expect(error).toMatchObject({ code: '53300' })
        break
      }
    }
    await Promise.all(taken.splice(0, connections).map((client) => client.end()))
    return () => Promise.all(taken.map((client) => client.end()))
  }

  test.each([
    ['long reads use the only connection of short ones', 'short', 'long'],
    ['short reads use the only connection of long ones', 'long', 'short'],
  ] as const)('%s', async (_, holding, asking) => {
    const giveBack = await leave(1)
    const pools = openReadPools(
      poolsOf(asRole, 20, () => undefined),
      20,
    )
    try {
      await pools[holding].query('select 1')
      await Promise.all(Array.from({ length: 20 }, () => pools[asking].query('select 1')))
      expect([pools[holding].totalCount, pools[asking].totalCount]).toEqual([1, 0])
    } finally {
      await Promise.all(eachPool(pools).map((pool) => pool.end()))
      await giveBack()
    }
  })

  test('of reads keep their last connection, where several pools take one over at once', async () => {
    const giveBack = await leave(2)
    const pool = poolsOf(asRole, 20, () => undefined)
    const pools = openReadPools(pool, 20)
    const others = [1, 2].map(() => pool({ max: 1, lenders: pools.lenders }))
    try {
      await Promise.all([1, 2].map(() => pools.short.query('select pg_sleep(0.1)')))
      const ofOthers = others.map((each) => each.query('select 1').catch((error: unknown) => error))
      for (let at = 0; at < 20; at++) await pools.short.query('select pg_sleep(0.05)')
      expect(pools.short.totalCount).toBe(1)
      expect((await Promise.all(ofOthers)).filter((each) => !(each instanceof Error))).toHaveLength(1)
    } finally {
      await Promise.all([...eachPool(pools), ...others].map((each) => each.end()))
      await giveBack()
    }
  })
})
