import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { openDatabase } from '../../src/database/open.ts'
import { startLock } from '../../src/database/postgresql/session-lock.ts'
import { createOnServer, postgresUrl } from '../support/database.ts'
import { dump } from '../support/dump.ts'
import { feedText, manyDemoFacts } from '../support/feeds.ts'
import { type Home, prepareHomes } from '../support/home.ts'
import { commandLine, type Environment, type Running } from '../support/process.ts'
import { rawConnection, type RawConnection } from '../support/raw.ts'
import { strategy } from '../support/world.ts'

const homes = prepareHomes()
const { start, run } = commandLine()

let home: Home

beforeEach(async () => {
  home = await homes.create()
})

async function serving(args: readonly string[], env: Environment): Promise<{ gateway: Running; port: number }> {
  const gateway = start(['serve', ...args], { PORT: '0', DEMO: '0', ...home.env, ...env })
  const [, port = ''] = await gateway.says(/GraphiQL {2}http:\/\/localhost:(\d+)\//)
  return { gateway, port: Number(port) }
}

const body = JSON.stringify({ query: '{ strategies { id } }' })

/** Opens a request that runs: the gateway has sent status 100, and waits for the body. */
async function begun(port: number): Promise<RawConnection> {
  const connection = await rawConnection(port)
  const head = ['POST /graphql HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Expect: 100-continue']
  connection.send([...head, `Content-Length: ${body.length}`, '', ''].join('\r\n'))
  await connection.receives(/100 Continue/)
  return connection
}

async function stopping(gateway: Running): Promise<void> {
  gateway.kill('SIGTERM')
  await gateway.says(/"msg":"Stopping/)
}

describe.runIf(postgresUrl !== undefined)('on SIGTERM during a wait for another process', () => {
  const waiters = async (client: pg.Client): Promise<number> => {
    const text = `select from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`
    return (await client.query(text)).rowCount ?? 0
  }

  test.each([
    ['serve', 'migrates', 0],
    ['migrate', 'migrates', 1],
    ['serve', 'fills', 0],
  ])('%s ends, where the other one %s the database', async (command, what, status) => {
    const url = await createOnServer(postgresUrl ?? '')
    if (what === 'fills') await (await openDatabase({ engine: 'postgresql', url, connections: 2 })).close()
    const holder = new pg.Client({ connectionString: url })
    await holder.connect()
    await holder.query(`select pg_advisory_lock(${startLock.key})`)
    const waiting = start([command], { PORT: '0', DATABASE_URL: url })
    await expect.poll(() => waiters(holder), { timeout: 30_000 }).toBe(1)
    expect(waiting.said()).toMatch(
      /Waits up to 600 s for a process that migrates this database or fills it: process \d+/,
    )
    waiting.kill('SIGTERM')
    expect(await waiting.ended).toMatchObject({ status })
    await holder.end()
  })
})

describe('on SIGTERM', () => {
  test('a running request is answered, new connections are refused, and the exit status is 0', async () => {
    const { gateway, port } = await serving([], { STOP_SECONDS: '600' })
    const connection = await begun(port)
    await stopping(gateway)
    await expect(fetch(`http://127.0.0.1:${port}/strategies`)).rejects.toMatchObject({
      cause: { code: 'ECONNREFUSED' },
    })
    connection.send(body)
    const received = await connection.closed
    expect(received).toMatch(/HTTP\/1\.1 200 OK\r\n.*"data":\{"strategies":\[\]\}/s)
    expect(received).toMatch(/connection: close\r\n/i)
    const { status, signal, stderr } = await gateway.ended
    expect({ status, signal }).toEqual({ status: 0, signal: null })
    expect(stderr).not.toContain('were cut')
    expect(stderr).toContain('"msg":"Stopped"')
  })

  test('idle connections do not delay the exit', async () => {
    const { gateway, port } = await serving([], { STOP_SECONDS: '600', KEEP_ALIVE_SECONDS: '600' })
    const idle = await rawConnection(port)
    idle.send('GET /strategies HTTP/1.1\r\nHost: x\r\n\r\n')
    await idle.receives(/HTTP\/1\.1 200 OK\r\n.*\[\]/s)
    const silent = await rawConnection(port)
    // Its response shows that the earlier connection was accepted too.
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200)
    gateway.kill('SIGTERM')
    expect(await gateway.ended).toMatchObject({ status: 0 })
    await Promise.all([idle.closed, silent.closed])
  })

  test('a hanging request is disconnected after the time limit, and the exit status is 0', async () => {
    const { gateway, port } = await serving([], { STOP_SECONDS: '1' })
    const connection = await begun(port)
    const started = performance.now()
    gateway.kill('SIGTERM')
    const { status, stderr } = await gateway.ended
    expect(status).toBe(0)
    expect(performance.now() - started).toBeGreaterThan(900)
    expect(stderr).toMatch(/"level":"warn".*"cut":1,"msg":"Requests that took too long/)
    expect(await connection.closed).not.toContain('HTTP/1.1 200')
  })

  test.skipIf(postgresUrl === undefined)('a hanging statement is abandoned after the time limit', async () => {
    const { gateway, port } = await serving([], { STOP_SECONDS: '1' })
    const locker = new pg.Client({ connectionString: home.env['DATABASE_URL'] })
    await locker.connect()
    await locker.query('begin; lock table strategy in access exclusive mode')
    const connection = await rawConnection(port)
    connection.send('GET /strategies HTTP/1.1\r\nHost: x\r\n\r\n')
    const waiting = `select from pg_locks where relation = 'strategy'::regclass and not granted`
    await vi.waitFor(async () => expect((await locker.query(waiting)).rowCount).toBe(1), { timeout: 30_000 })
    gateway.kill('SIGTERM')
    const { status, stderr } = await gateway.ended
    expect(status).toBe(0)
    expect(stderr).toContain('"cut":1')
    expect(await connection.closed).toBe('')
    await locker.end()
  })

  test.skipIf(postgresUrl === undefined)('a start banner that waits for a lock is given up', async () => {
    const locker = new pg.Client({ connectionString: home.env['DATABASE_URL'] })
    await locker.connect()
    await locker.query('begin; lock table vault in access exclusive mode')
    const gateway = start(['serve'], { PORT: '0', DEMO: '0', ...home.env })
    const waiting = `select from pg_locks where relation = 'vault'::regclass and not granted`
    await gateway.says(/"msg":"Listening"/)
    await vi.waitFor(async () => expect((await locker.query(waiting)).rowCount).toBe(1), { timeout: 30_000 })
    gateway.kill('SIGTERM')
    const { status, stdout, stderr } = await gateway.ended
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
    expect(stderr).toContain('"msg":"Stopped"')
    await locker.end()
  })

  test.skipIf(postgresUrl === undefined)('a batch that waits for a lock is given up after a few seconds', async () => {
    const feeds = ['followed', 'applied'].map((name) => path.join(homes.folder, `${name}.ndjson`))
    for (const feed of feeds) await writeFile(feed, feedText([strategy('one')]))
    const [followed = '', applied = ''] = feeds
    const locker = new pg.Client({ connectionString: home.env['DATABASE_URL'] })
    await locker.connect()
    await locker.query('begin; lock table strategy in exclusive mode')
    const following = start(['serve', '--feed', followed], { PORT: '0', STOP_SECONDS: '600', ...home.env })
    const ingesting = start(['ingest', applied], home.env)
    const waiting = `select from pg_locks where relation = 'strategy'::regclass and not granted`
    await vi.waitFor(async () => expect((await locker.query(waiting)).rowCount).toBe(2), { timeout: 30_000 })
    for (const each of [following, ingesting]) each.kill('SIGTERM')
    const [served, ingested] = await Promise.all([following.ended, ingesting.ended])
    expect([served.status, ingested.status]).toEqual([0, 1])
    expect(ingested.stderr).toContain('Stopped before the end of the feed')
    // A batch that has failed would be reported.
    expect(served.stderr + ingested.stderr).not.toContain('The feed waits')
    await locker.end()
  })

  test('the feed ends at a committed position, at which the next run resumes', async () => {
    const feed = path.join(homes.folder, 'feed.ndjson')
    await writeFile(feed, feedText(manyDemoFacts(24)))
    const { gateway, port } = await serving(['--feed', feed], {})
    const strategies = async (): Promise<unknown> => (await fetch(`http://127.0.0.1:${port}/strategies`)).json()
    await vi.waitFor(async () => expect(await strategies()).not.toEqual([]), { timeout: 30_000 })
    gateway.kill('SIGTERM')
    const { status, stderr } = await gateway.ended
    expect(status).toBe(0)
    expect(stderr).not.toContain('"level":"error"')
    const rest = await run(['ingest', feed], home.env)
    expect(rest.status).toBe(0)
    // It was stopped in the middle of the feed.
    expect(rest.stderr).toMatch(/applied +[1-9]\d* .*\nskipped +[1-9]\d* /)

    const other = await homes.create()
    expect(await run(['ingest', feed], other.env)).toMatchObject({ status: 0 })
    expect(await dumpOf(home)).toEqual(await dumpOf(other))
  })
})

test('/ready fails when a bad line stops the feed, and names the line', async () => {
  const feed = path.join(homes.folder, 'bad.ndjson')
  await writeFile(feed, '')
  const { gateway, port } = await serving(['--feed', feed], {})
  const ready = () => fetch(`http://127.0.0.1:${port}/ready`)
  expect((await ready()).status).toBe(200)
  await appendFile(feed, '{"kind":"trade"}\n')
  await gateway.says(/"level":"error".*"msg":"The feed is stopped/)
  const response = await ready()
  expect([response.status, await response.json()]).toEqual([
    503,
    {
      type: 'urn:vault-gateway:problem:not-ready',
      title: 'The gateway is not ready',
      status: 503,
      detail: 'The feed is stopped by a bad fact in line 1: kind is "trade", which is no kind of fact',
    },
  ])
  expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200)
})

test('a feed that fails before it is open is reported under the name of its position', async () => {
  const feed = path.join(homes.folder, 'reopened.ndjson')
  await writeFile(feed, feedText([strategy('one')]))
  expect(await run(['ingest', feed], home.env)).toMatchObject({ status: 0 })
  await rm(feed)
  await mkdir(feed)
  const { gateway, port } = await serving(
    ['--feed', path.relative(path.resolve(import.meta.dirname, '../..'), feed)],
    {},
  )
  await gateway.says(/"level":"error".*"msg":"The feed is stopped/)
  const query = '{ _meta { feeds { name line isStopped isWaiting } } }'
  const meta = await fetch(`http://127.0.0.1:${port}/graphql?query=${encodeURIComponent(query)}`)
  const { data } = (await meta.json()) as { data: unknown }
  expect(data).toEqual({ _meta: { feeds: [{ name: 'reopened.ndjson', line: 1, isStopped: true, isWaiting: false }] } })
})

async function dumpOf(of: Home): Promise<unknown> {
  const database = await of.open()
  try {
    return await dump(database)
  } finally {
    await database.close()
  }
}
