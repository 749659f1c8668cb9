import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../../../src/database/database.ts'
import { openDatabase, openServedDatabase } from '../../../../src/database/open.ts'
import { readVersionAt } from '../../../../src/database/read/commit-log.ts'
import { PrimaryLog } from '../../../../src/database/postgresql/replicas/primary-log.ts'
import { Replica } from '../../../../src/database/postgresql/replicas/replica.ts'
import type { LogTarget } from '../../../../src/database/postgresql/replicas/replay-proof.ts'
import { createOnServer, postgresUrl } from '../../../support/database.ts'
import { noOwnPostgreSql, type OwnPostgreSql, startOwnPostgreSql } from '../../../support/own-postgresql.ts'
import { type Proxy, proxyTo } from '../../../support/proxy.ts'
import { apply, strategy } from '../../../support/world.ts'

const nothing = (): void => undefined
const patience = { timeout: 15_000, interval: 50 }

describe.skipIf(postgresUrl === undefined || noOwnPostgreSql !== null)('a primary that is superseded', () => {
  const servers: OwnPostgreSql[] = []
  const databases: Database[] = []
  let proxy: Proxy
  let pathname: string

  const onServer = ({ url }: OwnPostgreSql): string => Object.assign(new URL(url), { pathname }).href
  const writeTo = async (url: string, name: string): Promise<void> => {
    const database = await openDatabase({ engine: 'postgresql', url, connections: 2 })
    databases.push(database)
    await apply(database, [strategy(name)])
  }

  beforeAll(async () => {
    const first = await startOwnPostgreSql()
    servers.push(first)
    pathname = new URL(await createOnServer(first.url)).pathname
    await writeTo(onServer(first), 'first')
    const second = await first.standby()
    servers.push(second)
    servers.push(await second.standby())
    proxy = await proxyTo(onServer(first))
  }, 120_000)
  afterAll(async () => {
    for (const database of databases) await database.close()
    await proxy.close()
    for (const server of servers.toReversed()) await server.remove()
  })

  test('and keeps running does not decide on replicas once its address leads to another server', async () => {
    const [, second, replica] = servers as [OwnPostgreSql, OwnPostgreSql, OwnPostgreSql]
    const replicas = { urls: [onServer(replica)], staleSeconds: 60 }
    const database = await openServedDatabase({ engine: 'postgresql', url: proxy.url, connections: 2, replicas })
    databases.push(database)
    const version = (seq: number): Promise<string | null> => readVersionAt(database, seq).catch(() => null)
    await expect.poll(() => version(1), patience).not.toBeNull()

    await second.promote()
    proxy.leadNewTo(onServer(second))
    await writeTo(onServer(second), 'second')
    await expect.poll(() => version(2), patience).not.toBeNull()
    // By now the replica has been compared with both.
    await wait(3_000)
    expect(await version(2)).not.toBeNull()
    expect(database.readServer?.()).toMatchObject({ server: new URL(replica.url).host, problem: null })
  }, 60_000)

  test('is the reported reason, in place of an earlier one, where no replica has its history', async () => {
    const [first, second, replica] = servers as [OwnPostgreSql, OwnPostgreSql, OwnPostgreSql]
    proxy.leadTo(onServer(second))
    const replicas = { urls: [onServer(replica)], staleSeconds: 1 }
    const warnings: string[] = []
    const options = { engine: 'postgresql', url: proxy.url, connections: 2, replicas } as const
    const database = await openServedDatabase(options, (warning) => warnings.push(warning))
    databases.push(database)
    await proxy.close()
    await expect.poll(() => warnings, patience).toHaveLength(1)
    expect(warnings[0]).toMatch(/^No server of READ_URLS can be read from: .*; the primary \S+/)
    proxy.leadTo(onServer(first))
    await proxy.open()
    await expect.poll(() => warnings.at(-1), patience).toMatch(/: \S+ has commit \d+\.\d+, which the primary lacks$/)
    expect(database.readServer?.().problem).toContain('the replicas do not have the history of the primary')
  }, 60_000)

  test('and replaced by another cluster is reported, with the remedy', async () => {
    // A database that exists in each cluster.
    const primary = new PrimaryLog(Object.assign(new URL(proxy.url), { pathname: '/postgres' }).href, nothing)
    await primary.ask()
    expect(primary.identity).not.toBeNull()
    proxy.leadTo(postgresUrl ?? '')
    // The connection that was cut may fail first.
    await expect
      .poll(async () => [await primary.ask(), primary.problem], patience)
      .toEqual([null, expect.stringMatching(/^is of another cluster now: .*: restart this process to use it$/)])
    primary.close()
  }, 60_000)

  test('is not needed to keep refusing a replica that has another history', async () => {
    const [first, , replica] = servers as [OwnPostgreSql, OwnPostgreSql, OwnPostgreSql]
    const [primary, checked] = [new PrimaryLog(onServer(first), nothing), new Replica(onServer(replica), nothing)]
    const check = async (target: LogTarget | null): Promise<string | null> => {
      await checked.check(primary.identity, target, null)
      return checked.problem
    }
    await check(await primary.ask())
    const reason = await check(await primary.ask())
    expect(reason).toMatch(/^has (?:commit|replayed more)/)
    for (const _ of ['once', 'again']) expect(await check(null)).toBe(reason)
    expect(checked.proof.provenAt).toBeNull()
    primary.close()
    checked.release()
  }, 60_000)
})
