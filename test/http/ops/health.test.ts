import { createServer, connect, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { DatabaseRefused, DatabaseUnavailable } from '../../../src/database/errors.ts'
import { monitorFeeds } from '../../../src/cli/feed-conditions.ts'
import { createReadiness } from '../../../src/cli/readiness.ts'
import type { Database } from '../../../src/database/database.ts'
import { migrate } from '../../../src/database/prisma/migrations.ts'
import { openPostgreSql } from '../../../src/database/postgresql/database.ts'
import { BadFact, UnreadableFeed } from '../../../src/feed/errors.ts'
import {
  createDatabase,
  createOnServer,
  emptyDatabase,
  postgresUrl,
  type TestDatabase,
} from '../../support/database.ts'
import { gatewayOn } from '../../support/gateway.ts'
import { type Problem, problemOf } from '../../support/problem.ts'

/** Time limit of the database, in milliseconds, in tests that do not measure it: the machine may be busy. */
const patience = 20_000

let database: TestDatabase

beforeAll(async () => {
  database = await emptyDatabase()
})

async function notReady(response: Response): Promise<Problem> {
  expect(response.headers.get('cache-control')).toBe('no-store')
  const problem = await problemOf(response, 503)
  expect(problem).toMatchObject({ type: 'urn:vault-gateway:problem:not-ready' })
  return problem
}

/** Returns whether a gateway on this database is ready. */
function readyOn(over: Database): Promise<Response> {
  return gatewayOn(over, { readiness: createReadiness(over, { milliseconds: patience }) }).get('/ready')
}

describe.each([
  ['/health', 'alive'],
  ['/ready', 'ready'],
])('%s', (path, status) => {
  const protectedGateway = () =>
    gatewayOn(database, {
      apiKeys: ['a-key-of-one-reader'],
      rateLimit: { requests: 1, seconds: 60 },
      readiness: createReadiness(database, { milliseconds: patience }),
    })

  test('answers 200 without an API key, however often it is requested', async () => {
    const gateway = protectedGateway()
    for (let times = 0; times < 3; times++) {
      const response = await gateway.get(path)
      expect([response.status, await response.json()]).toEqual([200, { status }])
      expect(response.headers.get('cache-control')).toBe('no-store')
      for (const name of ['etag', 'ratelimit', 'www-authenticate']) expect(response.headers.has(name)).toBe(false)
    }
  })

  test('is only read', async () => {
    const gateway = protectedGateway()
    const head = await gateway.get(path, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect((await gateway.get(path, { method: 'OPTIONS' })).status).toBe(204)
    const post = await gateway.get(path, { method: 'POST' })
    expect(post.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    await problemOf(post, 405)
  })
})

describe('a gateway is not ready', () => {
  test('while its database is unreachable, but it is alive', async () => {
    const gone = await createDatabase()
    const gateway = gatewayOn(gone, {
      readiness: createReadiness(gone, { milliseconds: patience, restMilliseconds: 0 }),
    })
    expect((await gateway.get('/ready')).status).toBe(200)
    await gone.close()
    expect(await notReady(await gateway.get('/ready'))).toMatchObject({ detail: 'The database is not reachable.' })
    expect((await gateway.get('/health')).status).toBe(200)
  })

  test.runIf(postgresUrl !== undefined)('while its role may not read a table', async () => {
    const url = await createOnServer(postgresUrl ?? '')
    const owning = await openPostgreSql(url, 2)
    await migrate(owning)
    const role = `reader_${new URL(url).pathname.slice(1)}`
    const sql = (text: string): Promise<unknown> => owning.prisma.$executeRawUnsafe(text)
    await sql(`create role ${role} login`)
    const reading = await openPostgreSql(Object.assign(new URL(url), { username: role }).href, 2)
    try {
      await sql(`grant select on all tables in schema public to ${role}`)
      expect((await readyOn(reading)).status).toBe(200)
      await sql(`revoke select on equity_point, data_head from ${role}`)
      expect(await notReady(await readyOn(reading))).toMatchObject({
        detail: 'The role of the database may not read 2 of its tables.',
      })
    } finally {
      await reading.close()
      await sql(`drop owned by ${role}`)
      await sql(`drop role ${role}`)
      await owning.close()
    }
  })

  test('while its database does not answer: it says so in time, after one read for all concurrent probes', async () => {
    let reads = 0
    const silent = { ...database, query: () => new Promise<never>(() => reads++) }
    const gateway = gatewayOn(silent, { readiness: createReadiness(silent, { milliseconds: 50, restMilliseconds: 0 }) })
    const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.get('/ready')))
    for (const answer of answers) {
      expect(await notReady(answer)).toMatchObject({ detail: 'The database did not answer within 50 ms.' })
    }
    expect(reads).toBe(1)
    await gateway.get('/ready')
    expect(reads).toBe(2)
  })

  test('or ready by the result of a check that is reused for a second', async () => {
    const statementsOf = async (times: number, restMilliseconds: number): Promise<number> => {
      let reads = 0
      const counting: Database = {
        ...database,
        query: (...args) => {
          reads++
          return database.query(...args)
        },
      }
      const readiness = createReadiness(counting, { milliseconds: patience, restMilliseconds })
      const { get } = gatewayOn(counting, { readiness })
      for (let time = 0; time < times; time++) expect((await get('/ready')).status).toBe(200)
      return reads
    }
    const once = await statementsOf(1, 0)
    expect(once).toBeGreaterThan(0)
    expect([await statementsOf(5, 0), await statementsOf(5, 3_600_000)]).toEqual([5 * once, once])
  })

  test('while its database lacks a migration', async () => {
    const old = await createDatabase()
    expect((await readyOn(old)).status).toBe(200)
    await old.prisma.$executeRawUnsafe('update _prisma_migrations set finished_at = null')
    expect((await notReady(await readyOn(old))).detail).toMatch(/^The database lacks [1-9]\d* of the migrations\.$/)
    await old.prisma.$executeRawUnsafe('drop table _prisma_migrations')
    expect((await notReady(await readyOn(old))).detail).toMatch(/^The database lacks [1-9]\d* of the migrations\.$/)
    await old.close()
  })

  test.each<[Error, string]>([
    [
      new BadFact('/srv/feeds/feed.ndjson', 7, 'kind', 'is "trade", which is no kind of fact'),
      'The feed is stopped by a bad fact in line 7: kind is "trade", which is no kind of fact',
    ],
    [
      new BadFact('/srv/feeds/feed.ndjson', 8, null, 'the line is not JSON'),
      'The feed is stopped by a bad fact in line 8: the line is not JSON',
    ],
    [new UnreadableFeed('/srv/feeds/feed.ndjson', 'is gone'), 'The feed is stopped; the log says why.'],
  ])('whose feed was stopped: %s', async (error, detail) => {
    const feeds = monitorFeeds()
    const readiness = createReadiness(database, { milliseconds: patience, conditions: feeds.conditions })
    const gateway = gatewayOn(database, { readiness })
    expect((await gateway.get('/ready')).status).toBe(200)
    feeds.feedStopped('/srv/feeds/feed.ndjson', error)
    expect(await notReady(await gateway.get('/ready'))).toMatchObject({ detail })
  })

  test('while its feed waits for a grant, until the feed continues', async () => {
    const feeds = monitorFeeds()
    const readiness = createReadiness(database, { milliseconds: patience, conditions: feeds.conditions })
    const gateway = gatewayOn(database, { readiness })
    feeds.feedWaits('one.ndjson', new DatabaseUnavailable(undefined))
    expect((await gateway.get('/ready')).status).toBe(200)
    feeds.feedWaits('one.ndjson', new DatabaseRefused('permission denied'))
    const detail = 'The feed waits, since the database refuses its statements; the log says why.'
    expect(await notReady(await gateway.get('/ready'))).toMatchObject({ detail })
    feeds.feedWaits('one.ndjson', null)
    expect((await gateway.get('/ready')).status).toBe(200)
  })
})

describe.skipIf(postgresUrl === undefined)('with PostgreSQL behind a proxy', () => {
  let proxy: Proxy | undefined

  afterEach(() => proxy?.stop())

  test('it is not ready while the server is gone, or silent, and ready again after, by itself', async () => {
    const url = new URL(await createOnServer(postgresUrl ?? ''))
    proxy = await proxyTo(Number(url.port), url.hostname)
    url.host = `127.0.0.1:${proxy.port}`
    const over = await openPostgreSql(url.toString(), 3)
    const gateway = gatewayOn(over, {
      readiness: createReadiness(over, { milliseconds: patience, restMilliseconds: 0 }),
    })
    const hasty = gatewayOn(over, { readiness: createReadiness(over, { restMilliseconds: 0 }) })
    expect(await notReady(await gateway.get('/ready'))).toMatchObject({
      detail: expect.stringContaining('lacks') as string,
    })

    await proxy.stop()
    expect(await notReady(await gateway.get('/ready'))).toMatchObject({ detail: 'The database is not reachable.' })

    await proxy.start()
    proxy.silent = true
    expect((await notReady(await hasty.get('/ready'))).detail).toMatch(/did not answer within 800 ms/)

    await proxy.stop()
    proxy.silent = false
    await proxy.start()
    await expect.poll(async () => (await notReady(await gateway.get('/ready'))).detail).toMatch(/^The database lacks/)
    await over.close()
  })
})

interface Proxy {
  readonly port: number
  /** Whether the proxy discards all input. */
  silent: boolean
  start(): Promise<void>
  stop(): Promise<void>
}

async function proxyTo(port: number, host: string): Promise<Proxy> {
  const sockets = new Set<Socket>()
  let server: Server | undefined
  const proxy = {
    port: 0,
    silent: false,
    async start() {
      const listening = createServer((client) => {
        sockets.add(client)
        client.on('error', () => undefined)
        if (proxy.silent) return
        const target = connect(port, host)
        sockets.add(target)
        target.on('error', () => undefined)
        client.pipe(target).pipe(client)
      })
      await new Promise<void>((resolve) => listening.listen(proxy.port, '127.0.0.1', resolve))
      proxy.port = (listening.address() as AddressInfo).port
      server = listening
    },
    async stop() {
      const closed = new Promise((resolve) => server?.close(resolve))
      for (const socket of sockets) socket.destroy()
      sockets.clear()
      await closed
    },
  }
  await proxy.start()
  return proxy
}
