import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { probeMilliseconds } from '../../../src/limits.ts'
import { createMetricsReader } from '../../../src/cli/metrics-reader.ts'
import { createLog } from '../../../src/cli/log.ts'
import { type Gateway, serve } from '../../../src/cli/commands/serve.ts'
import { encodePosition } from '../../../src/chain/chain-position.ts'
import { readConfig } from '../../../src/config.ts'
import type { Database } from '../../../src/database/database.ts'
import { saveReadUntil } from '../../../src/database/write/feed.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { ingest } from '../../../src/feed/ingest.ts'
import { type FactSource, inputSource } from '../../../src/feed/reading/source.ts'
import { shortNames } from '../../../src/graphql/feed-names.ts'
import { createMetricsEndpoint } from '../../../src/http/ops/metrics-endpoint.ts'
import { memoizeBriefly } from '../../../src/http/async/memoize-briefly.ts'
import { createModelMetrics, type ModelFigures } from '../../../src/http/ops/model-metrics.ts'
import { emptyDatabase, readingBy, type TestDatabase } from '../../support/database.ts'
import { feedText } from '../../support/feeds.ts'
import { failing, hanging, problemOf } from '../../support/problem.ts'
import { type Metric, parseMetrics, type Sample } from '../../support/prometheus.ts'
import { rawConnection } from '../../support/raw.ts'
import { addressOf, apply, midnight, opened, strategy, vaultA } from '../../support/world.ts'
import type { IncomingRequest } from '../../../src/http/incoming-request.ts'
import { probes } from '../../../src/http/ops/health.ts'
import type { PathHandler } from '../../../src/http/ops/own-paths.ts'

const requests = 'vault_gateway_http_request_duration_seconds'
const statements = 'vault_gateway_statement_duration_seconds'
const batches = 'vault_gateway_loader_batch_size'

/** Time limit, in milliseconds, of asynchronous expectations. */
const patience = 30_000

let database: TestDatabase
const running: Gateway[] = []

beforeEach(async () => {
  database = await emptyDatabase()
  await apply(database, [strategy('calm'), opened(vaultA, 'calm')])
})

afterEach(async () => {
  for (const gateway of running.splice(0)) await gateway.close()
})

interface Scraped {
  samples(name: string): readonly Sample[]
  /** Returns the value of the only series with these labels; undefined if there is none. */
  value(name: string, labels?: Record<string, string>): number | undefined
  readonly names: readonly string[]
  readonly metrics: ReadonlyMap<string, Metric>
}

interface Served {
  readonly gateway: Gateway
  get(path: string, init?: RequestInit): Promise<Response>
  /** Scrapes anew: waits until the result of the last scrape is no longer cached. */
  scrape(): Promise<Scraped>
  /** Scrapes until this many requests of a route and status have been counted, which is after their last byte. */
  counted(route: string, status: string, count: number): Promise<Scraped>
}

function read(text: string): Scraped {
  const metrics = parseMetrics(text)
  const samples = (name: string): readonly Sample[] =>
    [...metrics.values()].flatMap(({ samples }) => samples).filter((sample) => sample.name === name)
  const value = (name: string, labels: Record<string, string> = {}): number | undefined => {
    const found = samples(name).filter((sample) =>
      Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
    )
    if (found.length > 1) throw new Error(`${name} has ${found.length} series`)
    return found[0]?.value
  }
  return { samples, value, names: [...metrics.keys()], metrics }
}

/** Starts a gateway on a socket. */
async function served(over: Database = database, environment: Record<string, string> = {}): Promise<Served> {
  const config = readConfig({ PORT: '0', HOST: '127.0.0.1', DEMO: '0', STOP_SECONDS: '0', ...environment })
  const log = createLog({ level: 'silent', secrets: [], output: { write: () => true } })
  const command = {
    feed: null,
    chain: null,
    skipBad: false,
    input: Readable.from([]),
    print: () => undefined,
    nowSeconds: () => midnight,
  }
  const gateway = await serve({ ...command, config, database: over, log })
  running.push(gateway)
  const get = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${gateway.port}${path}`, init)
  let standsUntil = 0
  const scrape = async (): Promise<Scraped> => {
    await wait(standsUntil - performance.now())
    const text = await (await get('/metrics')).text()
    standsUntil = performance.now() + probeMilliseconds
    return read(text)
  }
  return {
    gateway,
    get,
    scrape,
    counted: (route, status, count) =>
      vi.waitFor(async () => {
        const scraped = await scrape()
        expect(scraped.value(`${requests}_count`, { route, status })).toBe(count)
        return scraped
      }, patience),
  }
}

describe('/metrics', () => {
  test('needs no API key, has no rate limit, and may not be cached', async () => {
    const gateway = await served(database, { API_KEYS: 'a-key-of-one-reader', RATE_LIMIT: '1/60' })
    for (let times = 0; times < 3; times++) {
      const response = await gateway.get('/metrics')
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(read(await response.text()).names).toContain(requests)
    }
    const head = await gateway.get('/metrics', { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    await problemOf(await gateway.get('/metrics', { method: 'POST' }), 405)
  })

  test('has metrics of the process', async () => {
    const { value } = await (await served()).scrape()
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(1_000_000)
    expect(value('nodejs_eventloop_lag_p99_seconds')).toBeDefined()
    expect(value('process_start_time_seconds')).toBeGreaterThan(1_700_000_000)
  })

  test('counts each gateway by itself', async () => {
    const [one, other] = [await served(), await served()]
    await (await one.get('/strategies')).text()
    await one.counted('/strategies', '200', 1)
    expect((await other.scrape()).value(`${requests}_count`, { route: '/strategies' })).toBeUndefined()
  })

  test('has a port of its own where one is configured', async () => {
    const { gateway, get } = await served(database, { METRICS_PORT: '0' })
    await problemOf(await get('/metrics'), 404)
    const origin = `http://127.0.0.1:${String(gateway.metricsPort)}`
    await problemOf(await fetch(`${origin}/strategies`), 404)
    await problemOf(await fetch(`${origin}/metrics`, { method: 'DELETE' }), 405)
    const response = await fetch(`${origin}/metrics`)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(read(await response.text()).value(`${requests}_count`, { route: '/metrics', status: '404' })).toBe(1)
  })

  test.each([
    ['no host', 'GET /metrics HTTP/1.1\r\n\r\n', 400],
    ['two hosts', 'GET /metrics HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n', 400],
    ['a host that names none', 'GET /metrics HTTP/1.1\r\nHost: a/b\r\nConnection: close\r\n\r\n', 400],
    ['a target that is too long', `GET /${'x'.repeat(9_000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, 414],
  ])('refuses on both ports: %s', async (_, text, status) => {
    const { gateway } = await served(database, { METRICS_PORT: '0' })
    for (const port of [gateway.port, gateway.metricsPort ?? 0]) {
      const connection = await rawConnection(port)
      connection.send(text)
      expect(await connection.closed).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*^connection: close\r$`, 'ims'))
    }
  })
})

describe('the text of the metrics', () => {
  test('is produced once for all requests within a second', async () => {
    let made = 0
    const endpoint = createMetricsEndpoint(() =>
      Promise.resolve([`# HELP a_total b\n# TYPE a_total counter\na_total ${++made}\n`]),
    )
    const clock = vi.spyOn(performance, 'now').mockReturnValue(1_000)
    onTestFinished(() => clock.mockRestore())
    const texts = await Promise.all(Array.from({ length: 50 }, endpoint))
    clock.mockReturnValue(1_000 + probeMilliseconds - 1)
    texts.push(await endpoint())
    expect([made, new Set(texts).size]).toEqual([1, 1])
    clock.mockReturnValue(1_000 + probeMilliseconds)
    expect((await endpoint()).endsWith('a_total 2\n')).toBe(true)
  })

  test.each([
    [0, 3],
    [3_600_000, 1],
  ])('stands for %i ms, and what failed does not', async (milliseconds, times) => {
    let made = 0
    const kept = memoizeBriefly(
      () => (made++ === 0 ? Promise.reject(new Error('no')) : Promise.resolve(made)),
      milliseconds,
    )
    await expect(kept()).rejects.toThrow('no')
    for (let time = 0; time < 3; time++) await kept()
    expect(made).toBe(1 + times)
  })
})

describe('requests are counted', () => {
  test('by route and status, with their durations', async () => {
    const { get, counted } = await served()
    for (const path of ['/strategies?a', '/strategies?b', '/vault/nobody/snapshot']) await (await get(path)).text()
    await counted('/vault/:address/snapshot', '400', 1)
    const { value } = await counted('/strategies', '200', 2)
    const of = { route: '/strategies', status: '200' }
    expect(value(`${requests}_sum`, of)).toBeGreaterThan(0)
    expect(value(`${requests}_bucket`, { ...of, le: '+Inf' })).toBe(2)
  })

  test('under the same few labels, whatever paths clients request', async () => {
    const { get, counted, scrape } = await served()
    const ask = async (index: number): Promise<void> => {
      const strange = `${index}-"\\\n{}`
      const target = encodeURIComponent(strange)
      await (await get(`/${target}`)).text()
      await (await get(`/vault/${target}/snapshot?${target}=${target}`)).text()
      await (await get(`/strategies`, { method: 'DELETE', headers: { 'x-request-id': String(index) } })).text()
      await (await get(`/graphql?query={${String.fromCharCode(97 + index)}}`)).text()
    }
    await ask(0)
    await counted('none', '404', 1)
    await counted('/strategies', '405', 1)
    // The scrapes themselves are counted from the second one on.
    const before = (await scrape()).samples(`${requests}_count`).map(({ labels }) => labels)
    for (let index = 1; index < 20; index++) await ask(index)
    await counted('none', '404', 20)
    await counted('/strategies', '405', 20)
    const { samples } = await scrape()
    expect(samples(`${requests}_count`).map(({ labels }) => labels)).toEqual(before)
  })
})

describe('reads are counted', () => {
  const nested = '{ vaults(first: 50) { nodes { address strategy { name pairs { a } } positions { id } } } }'

  test('by statement, and by the number of keys in each batch of a loader', async () => {
    await apply(database, [strategy('wild'), ...[1, 2, 3].map((index) => opened(addressOf(index), 'wild'))])
    const { get, scrape } = await served()
    database.takeStatements()
    await (await get(`/graphql?query=${encodeURIComponent(nested)}`)).json()
    const sent = database.takeStatements()
    expect(sent).toHaveLength(4)
    const { samples, value } = await scrape()
    // Reads end in any order.
    const counts = samples(`${statements}_count`).map(({ labels, value }) => [
      labels['statement'],
      labels['outcome'],
      value,
    ])
    expect(counts.sort()).toEqual(sent.map((statement) => [statement, 'done', 1]).sort())
    for (const [loader, keys] of Object.entries({
      'vault pages': 1,
      strategies: 2,
      'strategy pairs': 2,
      positions: 4,
    })) {
      expect([value(`${batches}_count`, { loader }), value(`${batches}_sum`, { loader })], loader).toEqual([1, keys])
    }
  })

  test('as failed if they returned no rows', async () => {
    const { get, scrape } = await served(failing(database))
    await problemOf(await get('/strategies'), 500)
    const { value } = await scrape()
    expect(value(`${statements}_count`, { statement: 'strategies', outcome: 'failed' })).toBe(1)
    expect(value(`${statements}_count`, { outcome: 'done' })).toBeUndefined()
  })

  test('as hits or misses of the response cache', async () => {
    const { get, scrape } = await served()
    const cacheSeries = async () => {
      const { value } = await scrape()
      const counts = ['hits_total', 'misses_total', 'dropped_total', 'entries']
      return counts.map((name) => value(`vault_gateway_cache_${name}`))
    }
    expect(await cacheSeries()).toEqual([0, 0, 0, 0])
    for (let times = 0; times < 3; times++) await (await get('/strategies')).text()
    expect(await cacheSeries()).toEqual([2, 1, 0, 1])
    expect((await scrape()).value('vault_gateway_cache_bytes')).toBeGreaterThan(0)
    await apply(database, [strategy('wild')])
    // An invalidated response is dropped at the next request for it.
    await vi.waitFor(async () => {
      await (await get('/strategies')).text()
      expect((await cacheSeries()).slice(2)).toEqual([1, 1])
    }, patience)
  })
})

describe('of the applied facts', () => {
  const block = { hash: `0x${'cd'.repeat(32)}`, timestamp: midnight }
  const lines = 'vault_gateway_feed_position_lines'
  const age = 'vault_gateway_newest_fact_age_seconds'

  test('there are the position of each feed and the age of the newest fact', async () => {
    const text = feedText([strategy('later', midnight + 60), strategy('last', midnight + 120)])
    const source = { ...inputSource(Readable.from([Buffer.from(text)])), name: '/srv/secret/feed.ndjson' }
    const before = Date.now() / 1000
    const { value } = await (await served()).scrape()
    expect(value(age)).toBeGreaterThanOrEqual(before - midnight)
    await ingest({ database, source })
    const scraped = await (await served()).scrape()
    expect(scraped.value(lines, { feed: 'feed.ndjson' })).toBe(2)
    expect(scraped.value('vault_gateway_feed_position_bytes', { feed: 'feed.ndjson' })).toBe(Buffer.byteLength(text))
    expect(scraped.value(age)).toBeGreaterThanOrEqual(before - midnight - 120)
    expect(scraped.value(age)).toBeLessThan(Date.now() / 1000 - midnight - 60)
    expect(scraped.value('vault_gateway_database_up')).toBe(1)
    expect(scraped.value('vault_gateway_feed_stopped')).toBe(0)
  })

  test('the position of a chain is a block, and not a number of bytes', async () => {
    const feed = 'chain 137 (0f1e2d3c4b5a)'
    await ingest({ database, source: chainSource(feed, 146_952_350) })
    const scraped = await (await served()).scrape()
    expect(scraped.value('vault_gateway_feed_position_block', { feed })).toBe(146_952_350)
    expect(scraped.samples('vault_gateway_feed_position_bytes').map(({ labels }) => labels['feed'])).not.toContain(feed)
    await saveReadUntil(database, feed, 1, { readUntil: midnight, block: { ...block, number: 146_952_400 } })
    const later = await (await served()).scrape()
    expect(later.value('vault_gateway_feed_position_block', { feed })).toBe(146_952_400)
  })

  test.each<[string, (database: Database) => Database]>([
    ['fails', (over) => failing(over)],
    ['hangs', (over) => hanging(over)],
    ['never answers', (over) => readingBy(over, () => new Promise<never>(() => undefined))],
  ])('nothing is told while the database %s; the rest is, in time', async (_, broken) => {
    const { names, samples, value } = await (await served(broken(database))).scrape()
    expect(value('vault_gateway_database_up')).toBe(0)
    for (const name of [lines, 'vault_gateway_feed_position_bytes', 'vault_gateway_feed_position_block', age]) {
      expect(names).toContain(name)
      expect(samples(name)).toEqual([])
    }
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(0)
  })

  test('only current values are reported', async () => {
    const feedA = { name: 'a', lines: 2, bytes: 20, block: null, newestFactAt: 90, readUntil: 120 }
    const feedB = { name: 'b', lines: 1, bytes: 1, block: null, newestFactAt: null, readUntil: null }
    let figures: ModelFigures | null = { feeds: [feedA], newestFactAt: 100, commitSeq: 7 }
    let isStopped = false
    const readMetrics = createModelMetrics({
      read: () => Promise.resolve(figures),
      isFeedStopped: () => isStopped,
      isFeedWaiting: () => !isStopped,
      nowSeconds: () => 130,
    })
    const currentSeries = async () => {
      const { samples } = read(await readMetrics())
      const names = {
        up: 'vault_gateway_database_up',
        stopped: 'vault_gateway_feed_stopped',
        waiting: 'vault_gateway_feed_waiting',
        position: lines,
        newest: age,
        newestOfFeed: 'vault_gateway_feed_newest_fact_age_seconds',
        readUntil: 'vault_gateway_feed_read_until_age_seconds',
        commit: 'vault_gateway_commit_seq',
      }
      const valuesOf = (name: string) => samples(name).map(({ labels, value }) => [...Object.values(labels), value])
      return Object.fromEntries(Object.entries(names).map(([key, name]) => [key, valuesOf(name)]))
    }
    const ages = { newest: [[30]], newestOfFeed: [['a', 40]], readUntil: [['a', 10]], commit: [[7]] }
    expect(await currentSeries()).toEqual({ up: [[1]], stopped: [[0]], waiting: [[1]], position: [['a', 2]], ...ages })
    ;[figures, isStopped] = [{ feeds: [feedB], newestFactAt: null, commitSeq: null }, true]
    const none = { newest: [], newestOfFeed: [], readUntil: [], commit: [] }
    expect(await currentSeries()).toEqual({ up: [[1]], stopped: [[1]], waiting: [[0]], position: [['b', 1]], ...none })
    figures = null
    expect(await currentSeries()).toEqual({ up: [[0]], stopped: [[1]], waiting: [[0]], position: [], ...none })
  })

  test('the database is read once for concurrent scrapes', async () => {
    database.takeStatements()
    const figures = createMetricsReader(database, { restMilliseconds: 0 })
    await Promise.all(Array.from({ length: 20 }, figures))
    expect(database.takeStatements()).toEqual(['feeds', 'newest_fact', 'commit_seq'])
    await vi.waitFor(async () => {
      await figures()
      expect(database.takeStatements()).toEqual(['feeds', 'newest_fact', 'commit_seq'])
    }, patience)
  })

  test.each([
    [
      ['/srv/a/feed.ndjson', 'standard input'],
      ['feed.ndjson', 'standard input'],
    ],
    [
      ['/srv/a/feed.ndjson', '/srv/b/feed.ndjson'],
      ['a/feed.ndjson', 'b/feed.ndjson'],
    ],
    [
      ['/feed.ndjson', '/b/feed.ndjson', '/b/old-feed.ndjson'],
      ['/feed.ndjson', 'b/feed.ndjson', 'old-feed.ndjson'],
    ],
    [['C:\\feeds\\feed.ndjson'], ['feed.ndjson']],
  ])('feeds are called by the ends of their paths: %j', (names, short) => {
    expect(shortNames(names)).toEqual(short)
  })
})

/** A chain with one fact, in a block of this number. */
function chainSource(name: string, block: number): FactSource {
  async function* facts(): AsyncGenerator<readonly FactInput[]> {
    yield await Promise.resolve([strategy('on chain', midnight)])
  }
  const hash = `0x${'ab'.repeat(32)}` as const
  const position = encodePosition(1, { block: { number: block, hash }, late: [], skipsApplied: false })
  return { name, start: { line: 0 }, facts: facts(), positionAfter: () => position }
}

test('the README of operations names each metric with its labels, and no other', async () => {
  const readme = await readFile(path.join(import.meta.dirname, '../../../src/cli/README.md'), 'utf8')
  const table = Array.from(readme.matchAll(/^\| `(vault_gateway_\w+)` +\| (.*?) +\|/gm), ([, name, labels]) => [
    name,
    labels,
  ])
  const reading = { servers: ['replica:5432'], server: 'replica:5432', moves: 0, problem: null, causes: [] }
  const { get, scrape } = await served({ ...database, readServer: () => reading })
  const source = { ...inputSource(Readable.from([Buffer.from(feedText([strategy('calm')]))])), name: 'feed.ndjson' }
  await ingest({ database, source })
  await ingest({ database, source: chainSource('chain 137', 1) })
  await saveReadUntil(database, source.name, 1, { readUntil: midnight, block: null })
  await (await get('/strategies')).text()
  const { metrics } = await vi.waitFor(async () => {
    const scraped = await scrape()
    expect(scraped.samples(`${requests}_count`)).not.toEqual([])
    return scraped
  }, patience)
  const labelsOf = (samples: readonly Sample[]): string => {
    const names = Object.keys(samples[0]?.labels ?? {}).filter((name) => name !== 'le')
    return names.map((name) => `\`${name}\``).join(', ')
  }
  const there = [...metrics]
    .filter(([name]) => name.startsWith('vault_gateway_'))
    .map(([name, { samples }]) => [name, labelsOf(samples)])
  expect(table.sort()).toEqual(there.sort())
})

test('are encoded once for all clients while their text is the same, so that they are compressed once', async () => {
  let text = 'a 1\n'.repeat(1_000)
  const answer = probes(undefined, () => Promise.resolve(text)).get('/metrics') as PathHandler
  const ask = () => answer({ method: 'GET' } as IncomingRequest)
  const first = await ask()
  expect(await ask()).toBe(first)
  expect(await first.compressed('br', 'sender')).toBe(await (await ask()).compressed('br', 'sender'))
  text = 'a 2\n'
  expect((await ask()).bytes.toString()).toBe(text)
})
