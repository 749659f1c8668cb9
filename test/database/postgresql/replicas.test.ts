import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { notifyAll } from '../../../src/cli/gateway.ts'
import { createReadiness } from '../../../src/cli/readiness.ts'
import type { Database, Read } from '../../../src/database/database.ts'
import { DatabaseRefused, DatabaseUnavailable } from '../../../src/database/errors.ts'
import { openDatabase, openServedDatabase } from '../../../src/database/open.ts'
import { readVersionAt } from '../../../src/database/read/commit-log.ts'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { createResponseCache } from '../../../src/http/cache/response-cache.ts'
import { createMetrics } from '../../../src/http/ops/metrics.ts'
import { createOnServer, postgresUrl } from '../../support/database.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { noOwnPostgreSql, type OwnPostgreSql, startOwnPostgreSql } from '../../support/own-postgresql.ts'
import { parseMetrics } from '../../support/prometheus.ts'
import { apply, deposit, mark, midnight, opened, strategy, vaultA } from '../../support/world.ts'

const snapshot = `/vault/${vaultA}/snapshot`
const patience = { timeout: 15_000, interval: 50 }

/** A gateway on replicas, composed as by `serve`. */
interface ReplicaGateway extends TestGateway {
  readonly database: Database
  readonly versions: DataVersions
  readonly warnings: readonly string[]
  metric(name: string, labels?: Record<string, string>): Promise<number | undefined>
  close(): Promise<void>
}

describe.skipIf(postgresUrl === undefined || noOwnPostgreSql !== null)('a gateway on replicas', () => {
  let primary: OwnPostgreSql
  const replicas: OwnPostgreSql[] = []
  let writing: Database
  let url: string
  let urls: string[]
  /** Facts are in order of time, over all tests. */
  let marks = 0
  const opened_: ReplicaGateway[] = []

  const onServer = (server: OwnPostgreSql): string =>
    Object.assign(new URL(server.url), { pathname: new URL(url).pathname }).href
  const sql = async <Row extends pg.QueryResultRow>(address: string, text: string): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: address })
    await client.connect()
    const { rows } = await client.query<Row>(text)
    await client.end()
    return rows
  }
  /** Commits the next value of the vault, which grows. */
  const commit = async (): Promise<number> => {
    await apply(writing, [mark(vaultA, midnight + 20 + ++marks, String(100 + marks))])
    return 100 + marks
  }

  beforeAll(async () => {
    primary = await startOwnPostgreSql()
    url = await createOnServer(primary.url)
    writing = await openDatabase({ engine: 'postgresql', url, connections: 2 })
    await apply(writing, [strategy('one'), opened(vaultA, 'one'), deposit(vaultA, midnight + 10, '100')])
    // A backup may take longer than the primary keeps the segments that it begins with.
    await sql(primary.url, `alter system set wal_keep_size = '64MB'`)
    await sql(primary.url, 'select pg_reload_conf()')
    for (const _ of ['first', 'second']) replicas.push(await primary.standby())
    urls = replicas.map(onServer)
  }, 120_000)
  afterEach(async () => {
    for (const gateway of opened_.splice(0)) await gateway.close()
  })
  afterAll(async () => {
    await writing.close()
    for (const server of [...replicas, primary]) await server.remove()
  })

  async function serve(readUrls: readonly string[], staleSeconds: number): Promise<ReplicaGateway> {
    const warnings: string[] = []
    const replicated = { urls: readUrls, staleSeconds }
    const choice = { engine: 'postgresql', url, connections: 4, replicas: replicated } as const
    const database = await openServedDatabase(choice, (message) => warnings.push(message))
    const [cache, versions] = [createResponseCache(1_000_000), new DataVersions()]
    const readiness = createReadiness(database, { versions, restMilliseconds: 0 })
    const gateway = gatewayOn(database, { cache, versions, readiness })
    const { stop } = await database.listen(notifyAll(cache, versions, gateway.app.live))
    const metrics = createMetrics({ versions, readServer: database.readServer })
    const served = {
      ...gateway,
      database,
      versions,
      warnings,
      async metric(name: string, labels: Record<string, string> = {}) {
        const samples = parseMetrics(await metrics.text()).get(`vault_gateway_${name}`)?.samples
        return samples?.find((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
          ?.value
      },
      async close() {
        gateway.app.live.endAll()
        await stop()
        await database.close()
      },
    }
    opened_.push(served)
    await versions.waitUntil(() => versions.isListening, 2_000)
    return served
  }
  const valueOf = async (gateway: TestGateway): Promise<number> =>
    ((await (await gateway.get(snapshot)).json()) as { valueUsd: number }).valueUsd
  const chosen = ({ database }: ReplicaGateway): OwnPostgreSql => {
    const at = urls.findIndex((each) => new URL(each).host === database.readServer?.().server)
    return replicas[at] as OwnPostgreSql
  }

  test('refuses a server of another cluster, by its identifier', async () => {
    const refused = serve([urls[0] ?? '', postgresUrl ?? ''], 60)
    await expect(refused).rejects.toBeInstanceOf(DatabaseRefused)
    await expect(refused).rejects.toThrow(
      new RegExp(
        `^PostgreSQL at ${new URL(postgresUrl ?? '').host}, which READ_URLS names, is of another cluster: its`,
      ),
    )
  })

  test.each(['the primary', 'a replica'])('refuses another database of %s, by its name', async (of) => {
    const other = of === 'a replica' ? (replicas[0]?.url ?? '') : primary.url
    const refused = serve([urls[1] ?? '', other], 60)
    await expect(refused).rejects.toBeInstanceOf(DatabaseRefused)
    await expect(refused).rejects.toThrow(
      `PostgreSQL at ${new URL(other).host}, which READ_URLS names, leads to another database: it is postgres, and the primary's is ` +
        `${new URL(url).pathname.slice(1)}. Name its replicas only, with its database.`,
    )
  })

  test('starts with a role that is not known, and warns of it', async () => {
    const unknown = Object.assign(new URL(urls[0] ?? ''), { username: 'nobody' })
    const gateway = await serve([unknown.href], 60)
    await expect
      .poll(() => gateway.warnings, patience)
      .toEqual([
        `No server of READ_URLS can be read from: ${unknown.host}${unknown.pathname} answers: role "nobody" does not exist ` +
          '(check its address, unless this has yet to be replicated)',
      ])
    expect((await gateway.get(snapshot)).status).toBe(503)
  })

  test('starts before its database is replicated, and reads from it once it is', async () => {
    const [replica] = replicas as [OwnPostgreSql]
    const first = url
    await sql(replica.url, 'select pg_wal_replay_pause()')
    try {
      url = await createOnServer(primary.url)
      const own = await openDatabase({ engine: 'postgresql', url, connections: 2 })
      await apply(own, [strategy('one'), opened(vaultA, 'one'), deposit(vaultA, midnight + 10, '100')])
      await own.close()
      const gateway = await serve([onServer(replica)], 60)
      const name = new URL(url).pathname.slice(1)
      await expect
        .poll(() => gateway.warnings, patience)
        .toEqual([
          `No server of READ_URLS can be read from: ${new URL(replica.url).host}/${name} answers: database "${name}" does not exist ` +
            '(check its address, unless this has yet to be replicated)',
        ])
      await sql(replica.url, 'select pg_wal_replay_resume()')
      await expect.poll(async () => (await gateway.get(snapshot)).status, patience).toBe(200)
    } finally {
      url = first
      await sql(replica.url, 'select pg_wal_replay_resume()')
    }
  })

  test('reads nothing from the primary', async () => {
    const gateway = await serve(urls, 60)
    const value = await commit()
    await expect.poll(() => valueOf(gateway), patience).toBe(value)
    await gateway.query('{ strategies { id vaults(first: 2) { nodes { address } } } vaults { totalCount } }')
    const text = `select query from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
    const queries = async (address: string): Promise<string[]> =>
      (await sql<{ query: string }>(address, text)).map(({ query }) => query)
    const reads = (found: string[]): string[] => found.filter((query) => query.includes('"dataVersion"'))
    expect(reads(await queries(onServer(chosen(gateway))))).not.toEqual([])
    expect(reads(await queries(url))).toEqual([])
  })

  test('reads from a standby whose database is serializable by default, which standbys refuse', async () => {
    const setting = `alter database ${new URL(url).pathname.slice(1)}`
    await sql(url, `${setting} set default_transaction_isolation = 'serializable'`)
    const { lsn = '' } = (await sql<{ lsn: string }>(url, 'select pg_current_wal_insert_lsn()::text as lsn'))[0] ?? {}
    const at = onServer(replicas[0] as OwnPostgreSql)
    const hasReached = async (): Promise<boolean | undefined> => {
      const text = `select pg_last_wal_replay_lsn() >= '${lsn}'::pg_lsn as reached`
      return (await sql<{ reached: boolean }>(replicas[0]?.url ?? '', text))[0]?.reached
    }
    await expect.poll(hasReached, patience).toBe(true)
    try {
      const gateway = await serve([at], 60)
      const value = await commit()
      await expect.poll(() => valueOf(gateway), patience).toBe(value)
      expect(gateway.database.readServer?.().server).toBe(new URL(at).host)
    } finally {
      await sql(url, `${setting} reset default_transaction_isolation`)
    }
  })

  test('reads from the primary where that is named as its own replica', async () => {
    const gateway = await serve([url], 60)
    const value = await commit()
    await expect.poll(() => valueOf(gateway), patience).toBe(value)
    expect(await gateway.metric('read_server', { server: new URL(url).host })).toBe(1)
    expect((await gateway.get('/ready')).status).toBe(200)
  })

  test('reads from the primary only while there is no standby', async () => {
    const [standby] = replicas as [OwnPostgreSql]
    const gateway = await serve([urls[0] ?? '', url], 60)
    const server = (): string | null | undefined => gateway.database.readServer?.().server
    expect(server()).toBe(new URL(standby.url).host)
    await standby.kill()
    await expect.poll(server, patience).toBe(new URL(url).host)
    const value = await commit()
    await expect.poll(() => valueOf(gateway), patience).toBe(value)
    await standby.start()
    await expect.poll(server, patience).toBe(new URL(standby.url).host)
    expect(await valueOf(gateway)).toBe(value)
    expect(gateway.warnings.at(-1)).toMatch(/^Reads go to PostgreSQL at .* now: .* is the primary$/)
  }, 60_000)

  test('reports the lag of a replica, and changes to one without lag', async () => {
    const gateway = await serve(urls, 5)
    const slow = chosen(gateway)
    const before = await valueOf(gateway)
    await sql(slow.url, 'select pg_wal_replay_pause()')
    const value = await commit()
    const answers: { readonly value: number; readonly seq: number; readonly age: number; readonly status: number }[] =
      []
    await expect
      .poll(async () => {
        const response = await gateway.get(snapshot)
        const { valueUsd = 0 } = (await response.json()) as { valueUsd?: number }
        const header = (name: string): number => Number(response.headers.get(name) ?? NaN)
        const [status, seq, age] = [response.status, header('data-version'), header('data-age')]
        answers.push({ value: valueUsd, seq: Number.isNaN(seq) ? 0 : seq, age, status })
        return valueUsd
      }, patience)
      .toBe(value)
    await sql(slow.url, 'select pg_wal_replay_resume()')
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(answers.slice(0, -1).map((each) => each.value)).toEqual(answers.slice(1).map(() => before))
    expect(Math.max(...answers.map(({ age }) => age))).toBeGreaterThanOrEqual(2)
    expect(chosen(gateway)).not.toBe(slow)
    expect(gateway.warnings).toEqual([expect.stringMatching(/^Reads go to PostgreSQL at .* now: .* lags \d s behind$/)])
    await expect.poll(() => gateway.metric('data_age_seconds'), patience).toBeLessThanOrEqual(1)
    expect(await gateway.metric('read_server_changes_total')).toBe(1)
    expect(await gateway.metric('read_server', { server: new URL(slow.url).host })).toBe(0)
  }, 30_000)

  test('responds with 503 and the age where the only replica is too old, until it has caught up', async () => {
    const [only] = replicas as [OwnPostgreSql]
    const gateway = await serve([urls[0] ?? ''], 2)
    await sql(only.url, 'select pg_wal_replay_pause()')
    const value = await commit()
    const text =
      /^The data of the replicas is \d+ s old, and at most 2 s are allowed: the replica lags behind the primary\./
    await expect.poll(async () => (await gateway.get(snapshot)).status, patience).toBe(503)
    const refused = await gateway.get(snapshot)
    expect(refused.headers.get('retry-after')).toBe('2')
    expect(((await refused.json()) as { detail: string }).detail).toMatch(text)
    const posted = await gateway.post('{ strategies { id } }')
    expect(posted.status).toBe(503)
    const ready = await gateway.get('/ready')
    expect(ready.status).toBe(503)
    expect(((await ready.json()) as { detail: string }).detail).toMatch(text)
    expect(await gateway.metric('data_age_seconds')).toBeGreaterThanOrEqual(2)
    expect(await gateway.metric('read_server')).toBe(0)
    await sql(only.url, 'select pg_wal_replay_resume()')
    await expect.poll(() => valueOf(gateway), patience).toBe(value)
    expect((await gateway.get('/ready')).status).toBe(200)
  }, 30_000)

  test.each(['kill', 'freeze'] as const)(
    'moves without a failed answer when its replica is lost: %s',
    async (how) => {
      const gateway = await serve(urls, 60)
      const lost = chosen(gateway)
      const value = await commit()
      await expect.poll(() => valueOf(gateway), patience).toBe(value)
      await lost[how]()
      const statuses = new Set<number>()
      const values = new Set<number>()
      const queriedServer = async (): Promise<OwnPostgreSql> => {
        // Each request is another one, so that none is answered from the cache.
        const response = await gateway.get(
          `/vault/${vaultA}/equity?points=${2 + ((statuses.size + Math.floor(performance.now())) % 500)}`,
        )
        statuses.add(response.status)
        values.add(await valueOf(gateway))
        return chosen(gateway)
      }
      await expect.poll(queriedServer, patience).not.toBe(lost)
      await queriedServer()
      expect(statuses).toEqual(new Set([200]))
      expect(values).toEqual(new Set([value]))
      const next = await commit()
      await expect.poll(() => valueOf(gateway), patience).toBe(next)
      await (how === 'kill' ? lost.start() : lost.thaw())
    },
    30_000,
  )

  test('sends a snapshot again when its replica is lost while it is read', async () => {
    const gateway = await serve(urls, 60)
    // Of the connections to a replica, four for reads, and not of the few to the primary.
    expect(gateway.database.snapshotsAtOnce).toBe(2)
    const lost = chosen(gateway)
    const tables: Read = { name: 'vaults', text: 'select count(*)::integer as count from vault', dependsOn: 'universe' }
    let begun = 0
    const counts = await gateway.database.snapshot(async (reader) => {
      const isFirst = begun++ === 0
      const before = await reader.read(tables, [])
      if (isFirst) await lost.kill()
      return [before, await reader.read(tables, [])].map(({ rows }) => rows)
    })
    expect(counts).toEqual([[{ count: 1 }], [{ count: 1 }]])
    expect(begun).toBe(2)
    await lost.start()
  }, 30_000)

  test('responds with 503 where all replicas lack a reported data version', async () => {
    const gateway = await serve(urls, 60)
    const lost = chosen(gateway)
    const behind = replicas.find((server) => server !== lost) as OwnPostgreSql
    await sql(behind.url, 'select pg_wal_replay_pause()')
    const dataVersion = async (): Promise<string | null> => (await gateway.get(snapshot)).headers.get('data-version')
    const before = await dataVersion()
    const value = await commit()
    await expect.poll(() => valueOf(gateway), patience).toBe(value)
    // The response may be newer than its data version.
    await expect.poll(dataVersion, patience).not.toBe(before)
    await lost.kill()
    await expect.poll(async () => (await gateway.get(snapshot)).status, patience).toBe(503)
    expect((await gateway.get('/ready')).status).toBe(503)
    await sql(behind.url, 'select pg_wal_replay_resume()')
    await expect.poll(async () => (await gateway.get(snapshot)).status, patience).toBe(200)
    expect(await valueOf(gateway)).toBe(value)
    expect(chosen(gateway)).toBe(behind)
    await lost.start()
  }, 30_000)

  test('does not read from a server that has a commit which a failover has lost', async () => {
    const [first] = replicas as [OwnPostgreSql]
    await sql(first.url, `alter system set primary_conninfo = ''`)
    await sql(first.url, 'select pg_reload_conf()')
    await expect.poll(() => sql(first.url, 'select from pg_stat_wal_receiver'), patience).toEqual([])
    await commit()
    await first.promote()
    const warnings: string[] = []
    const database = await openServedDatabase(
      {
        engine: 'postgresql',
        url: onServer(first),
        connections: 2,
        replicas: { urls: [url], staleSeconds: 60 },
      },
      (warning) => warnings.push(warning),
    )
    await expect(readVersionAt(database, 1)).rejects.toBeInstanceOf(DatabaseUnavailable)
    expect(warnings).toEqual([
      expect.stringMatching(
        /^No server of READ_URLS can be read from: \S+ has commit \d+\.\d+, which the primary lacks$/,
      ),
    ])
    await database.close()
  }, 30_000)
})
