import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Database } from '../../../src/database/database.ts'
import { migrate } from '../../../src/database/prisma/migrations.ts'
import { openPostgreSql } from '../../../src/database/postgresql/database.ts'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { createOnServer, postgresUrl } from '../../support/database.ts'
import { noOwnPostgreSql, type OwnPostgreSql, startOwnPostgreSql } from '../../support/own-postgresql.ts'

const patience = { timeout: 30_000, interval: 20 }

describe.skipIf(postgresUrl === undefined)('the connection that receives commits', () => {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })

  async function open(
    url: string,
    connections = 2,
  ): Promise<{ readonly database: Database; readonly warnings: string[] }> {
    const warnings: string[] = []
    const database = await openPostgreSql(url, connections, (message) => warnings.push(message))
    closing.unshift(() => database.close())
    return { database, warnings }
  }

  async function listen(database: Database): Promise<boolean[]> {
    const states: boolean[] = []
    const nothing = (): void => undefined
    const listening = (isListening: boolean): void => void states.push(isListening)
    const { stop } = await database.listen({ committed: nothing, upToDate: nothing, listening })
    // Twice, as by a listener without a server when the gateway is closed.
    closing.unshift(async () => void (await Promise.all([stop(), stop().then(stop)])))
    await vi.waitFor(() => expect(states).toEqual([true]), patience)
    return states
  }

  test('reports the reason of a refusal by the server once, and when it is accepted again', async () => {
    const url = await createOnServer(postgresUrl ?? '')
    const { host, pathname } = new URL(url)
    const name = pathname.slice(1)
    const { database, warnings } = await open(url)
    await migrate(database)
    await listen(database)
    await onServer(
      postgresUrl,
      `alter database ${name} allow_connections false`,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
    )
    await vi.waitFor(() => expect(warnings).not.toEqual([]), patience)
    await wait(1_500)
    const reason = `database "${name}" is not currently accepting connections`
    expect(warnings).toEqual([`No commits are received from PostgreSQL at ${host}: ${reason}`])
    await onServer(postgresUrl, `alter database ${name} allow_connections true`)
    await vi.waitFor(() => expect(warnings).toHaveLength(2), patience)
    expect(warnings[1]).toBe(`Commits are received from PostgreSQL at ${host} again`)
  }, 60_000)

  test('reports a connection that is repeatedly accepted and closed once, and its recovery; not a single closure', async () => {
    const url = await createOnServer(postgresUrl ?? '')
    const { host, pathname } = new URL(url)
    const { database, warnings } = await open(url)
    await migrate(database)
    const states = await listen(database)
    const cut = (): Promise<void> =>
      onServer(
        postgresUrl,
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${pathname.slice(1)}'
         and (query like 'listen %' or query like '%from commit_log%')`,
      )
    await cut()
    await vi.waitFor(() => expect(states).toEqual([true, false, true]), patience)
    await wait(500)
    expect(warnings).toEqual([])
    for (let cuts = 0; cuts < 8; cuts++) {
      const received = states.length
      await cut()
      await vi.waitFor(() => expect(states.slice(received)).toEqual([false, true]), patience)
    }
    const breaks = `^The connection that receives commits from PostgreSQL at ${host} breaks repeatedly: terminating connection`
    expect(warnings).toEqual([expect.stringMatching(breaks)])
    await vi.waitFor(() => expect(warnings).toHaveLength(2), patience)
    expect(warnings[1]).toBe(`Commits are received from PostgreSQL at ${host} again`)
  }, 60_000)

  test('takes over a connection of reads, where these use all that the server grants', async () => {
    const url = await createOnServer(postgresUrl ?? '')
    const role = `role_${new URL(url).pathname.slice(1)}`
    await onServer(url, `create role ${role} login connection limit 4; grant create on schema public to ${role}`)
    closing.unshift(() => onServer(url, `drop owned by ${role}; drop role ${role}`))
    const { database, warnings } = await open(Object.assign(new URL(url), { username: role }).href, 20)
    await migrate(database)
    const read = (): Promise<unknown> => database.query({ name: 'slow', text: 'select pg_sleep(0.1)' }, [])
    let isOver = false
    const reading = Promise.all(
      Array.from({ length: 20 }, async () => {
        while (!isOver) await read()
      }),
    )
    await vi.waitFor(() => expect(warnings).toHaveLength(1), patience)
    await listen(database).finally(() => (isOver = true))
    await reading
    expect(warnings).toEqual([expect.stringContaining('gives this process no more connections')])
  }, 60_000)
})

describe.skipIf(noOwnPostgreSql !== null)('a standby in place of the primary', () => {
  let primary: OwnPostgreSql
  let standby: OwnPostgreSql
  beforeAll(async () => {
    primary = await startOwnPostgreSql()
    const database = await openPostgreSql(primary.url, 2)
    await migrate(database)
    await database.close()
    standby = await primary.standby()
  }, 120_000)
  afterAll(async () => {
    await standby.remove()
    await primary.remove()
  })

  test('does not prove that it has every commit, before its first one too, until it is promoted', async () => {
    const warnings: string[] = []
    const database = await openPostgreSql(standby.url, 2, (message) => warnings.push(message))
    const versions = new DataVersions()
    const { stop } = await database.listen(versions)
    await vi.waitFor(() => expect(versions.isListening).toBe(true), patience)
    await onServer(primary.url, `insert into commit_log values (1, '1.5', 5, 100, '{}')`)
    await vi.waitFor(() => expect(versions.currentState().version).toBe('1.5'), patience)
    await wait(500)
    expect(versions.currentState()).toMatchObject({ version: '1.5', ageSeconds: null })
    expect(warnings).toEqual([expect.stringMatching(`^PostgreSQL at ${new URL(standby.url).host} is a standby: `)])
    const before = performance.now()
    await standby.promote()
    await vi.waitFor(() => expect(versions.isProvenSince(before)).toBe(true), patience)
    expect(versions.currentState()).toMatchObject({ version: '1.5', ageSeconds: 0 })
    await stop()
    await database.close()
  }, 60_000)
})

async function onServer(url: string | undefined, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}
