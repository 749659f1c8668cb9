import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { AppOptions } from '../../../src/http/app.ts'
import { createFanOut } from '../../../src/http/live/delivery/fan-out.ts'
import { StreamedResponse } from '../../../src/http/live/delivery/streamed-response.ts'
import { openInSlot } from '../../../src/http/live/responses/opening.ts'
import { createMetrics } from '../../../src/http/ops/metrics.ts'
import { fromFetch } from '../../../src/http/server/fetch-adapter.ts'
import { defaultHttpLimits } from '../../../src/limits.ts'
import { emptyDatabase, readingBy, type TestDatabase } from '../../support/database.ts'
import { type LiveClient, liveGateway, type LiveGateway, openStream } from '../../support/live.ts'
import { parseMetrics } from '../../support/prometheus.ts'
import { rawConnection } from '../../support/raw.ts'
import { addressOf, apply, deposit, event, midnight, opened, strategy } from '../../support/world.ts'

/* Many streams, and streams of many vaults: shared responses are produced once, those of closed streams not at all. */

const vaults = Array.from({ length: 100 }, (_, at) => addressOf(at + 1))
const ofAll = `/live/vaults?vault=${vaults.join()}`

let database: TestDatabase
let gateway: LiveGateway | undefined
let metrics: ReturnType<typeof createMetrics>
let now = midnight
const clients: LiveClient[] = []

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, [strategy('calm'), ...vaults.map((vault) => opened(vault, 'calm', ++now))])
  await apply(
    database,
    vaults.map((vault) => deposit(vault, ++now, '100')),
  )
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await gateway?.close()
  gateway = undefined
})

async function begin(liveLimits: AppOptions['liveLimits'] = {}): Promise<LiveGateway> {
  metrics = createMetrics()
  gateway = await liveGateway(database, { observer: { live: metrics.live }, liveLimits, trustedProxies: 1 })
  return gateway
}

async function follow(path: string, sender = '10.0.0.1'): Promise<LiveClient> {
  const client = await openStream(gateway?.server.origin ?? '', path, {
    headers: { 'x-forwarded-for': sender, accept: 'text/event-stream' },
  })
  clients.push(client)
  return client
}

async function evaluations(): Promise<number> {
  const family = parseMetrics(await metrics.text()).get('vault_gateway_live_evaluations_total')
  return family?.samples[0]?.value ?? NaN
}

test('a stream of 100 vaults causes no warning of Node', async () => {
  await begin()
  const warned = vi.fn()
  process.on('warning', warned)
  await (await follow(ofAll)).until('snapshot', 100)
  await wait(10)
  process.off('warning', warned)
  expect(warned).not.toHaveBeenCalled()
})

test('streams of the same vaults produce each snapshot once for the beginning of streams, and once to follow it', async () => {
  await begin()
  for (let streams = 0; streams < 10; streams++) await (await follow(ofAll)).until('snapshot', 100)
  expect(await evaluations()).toBeLessThanOrEqual(2 * vaults.length)
})

test('a stream occupies its place until its work has ended, even if the client has left', async () => {
  const release = vi.fn()
  let leave = (): void => undefined
  let end = (): void => undefined
  let isWanted = (): boolean => true
  const exchange = {
    request: fromFetch(new Request('http://gateway.test/live/vaults')),
    onDisconnect: (cancel: () => void) => void (leave = cancel),
  }
  const reply = openInSlot(exchange, { sender: 'one', onRelease: () => undefined, release }, (opening) => {
    isWanted = () => opening.isWanted()
    return new Promise((resolve) => (end = () => resolve(new StreamedResponse(() => undefined))))
  })
  leave()
  await wait(1)
  expect([isWanted(), release.mock.calls.length]).toEqual([false, 0])
  end()
  await reply
  await wait(1)
  expect(release).toHaveBeenCalled()
})

test('the responses that all streams follow together are limited, and each sender has a share of the limit', async () => {
  await begin({ follows: 200 })
  expect((await follow(ofAll)).status).toBe(200)
  const refused = await follow(ofAll)
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, expect.any(String)])
  const part = `/live/vaults?vault=${vaults.slice(0, 25).join()}`
  expect((await follow(part, '10.0.0.2')).status).toBe(200)
  expect((await follow(part, '10.0.0.3')).status).toBe(503)
  clients[0]?.close()
  await expect.poll(async () => (await follow(part)).status).toBe(200)
})

test('the limit on followed responses counts those of streams that are opening', async () => {
  await begin({ follows: 200 })
  const opened = await Promise.all(Array.from({ length: 8 }, (_, index) => follow(ofAll, `10.0.1.${index}`)))
  // Without the others each would have room.
  expect(opened.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 7 }, () => 503)])
})

test('streams that are pipelined behind another do not start, and hold nothing after their client has left', async () => {
  const { server } = await begin({ follows: 200 })
  const seq = Number((await currentVersion()).split('.')[0])
  const raw = await rawConnection(server.port)
  const get = (target: string, more = ''): string => `GET ${target} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
  raw.send(get(`/live/vaults?vault=${vaults[0]}`) + get(ofAll, `Last-Event-ID: ${seq + 1000}.1\r\n`))
  await raw.receives(/event: snapshot/)
  await wait(300)
  raw.socket.destroy()
  await expect.poll(() => server.running()).toBe(0)
  await expect.poll(async () => (await follow(ofAll)).status).toBe(200)
})

test('the body of a request for a stream does not count after the stream has begun', async () => {
  metrics = createMetrics()
  gateway = await liveGateway(database, { limits: { ...defaultHttpLimits, bodiesBytes: 6_000 } })
  const subscribe = async (): Promise<LiveClient> => {
    const query = `subscription { vault(address: "${vaults[0]}") { valueUsd } }`
    const client = await openStream(gateway?.server.origin ?? '', '/graphql', {
      method: 'POST',
      headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ query, extensions: { padding: 'x'.repeat(1_500) } }),
    })
    clients.push(client)
    return client
  }
  for (let stream = 0; stream < 4; stream++) {
    const client = await subscribe()
    expect(client.status).toBe(200)
    await client.until('next', 1)
  }
})

test('a stream whose responses would wait too long is refused', async () => {
  await begin({ openings: 50 })
  expect((await follow(ofAll)).status).toBe(503)
  expect((await follow(`/live/vaults?vault=${vaults.slice(0, 10).join()}`)).status).toBe(200)
})

test('the responses in memory for streams are limited, including snapshots', async () => {
  await begin({ responseBytes: 1_000 })
  const subscribe = (field: string): Promise<LiveClient> => {
    const query = `subscription { vault(address: "${vaults[0]}") { ${field} } }`
    return follow(`/graphql?${new URLSearchParams({ query }).toString()}`)
  }
  const vaultsFollowed = async (from: number, until: number): Promise<number> =>
    (await follow(`/live/vaults?vault=${vaults.slice(from, until).join()}`)).status
  await (await follow(`/live/vaults?vault=${vaults.slice(0, 3).join()}`)).until('snapshot', 3)
  expect((await subscribe('owner')).status).toBe(503)
  // A response that is not in memory is refused, also among others.
  expect([await vaultsFollowed(9, 10), await vaultsFollowed(1, 4), await vaultsFollowed(1, 3)]).toEqual([503, 503, 200])
})

test('rows that a subscription has missed are read together', async () => {
  const reading = { now: 0, most: 0 }
  const watched = readingBy(database, async (statement, values, signal, reader) => {
    reading.most = Math.max(reading.most, ++reading.now)
    try {
      return await reader.read(statement, values, signal)
    } finally {
      reading.now--
    }
  })
  gateway = await liveGateway(watched)
  const version = await currentVersion()
  const rows = Array.from({ length: 100 }, (_, at) =>
    event(vaults[at] ?? '', ++now, { type: 'plant' as const, positionId: 'p' }),
  )
  await apply(database, rows)
  const query = `subscription { ledger(after: "${version}") { vault { owner } event { ts } } }`
  const stream = await openStream(gateway.server.origin, `/graphql?${new URLSearchParams({ query }).toString()}`, {
    headers: { accept: 'text/event-stream' },
  })
  clients.push(stream)
  const received = await stream.until('next', rows.length)
  expect(received.map(({ data }) => Number(/"ts":(\d+)/.exec(data ?? '')?.[1]))).toEqual(rows.map(({ ts }) => ts))
  expect(reading.most).toBeGreaterThan(10)
})

async function currentVersion(): Promise<string> {
  const [newest] = await database.query<{ version: string }>(
    { name: 'newest_version', text: 'select version from commit_log order by seq desc limit 1' },
    [],
  )
  return newest?.version ?? ''
}

test('a fan-out with long deliveries continues in later iterations', async () => {
  const fanOut = createFanOut(500, 5)
  let delivered = 0
  const deliver = (): void => {
    for (const until = performance.now() + 1; performance.now() < until;);
    delivered++
  }
  const atOnce: number[] = []
  await new Promise<void>((resolve) => {
    const sampling = setInterval(() => atOnce.push(delivered), 0)
    fanOut(Array.from({ length: 200 }), deliver, () => {
      clearInterval(sampling)
      resolve()
    })
  })
  expect(delivered).toBe(200)
  expect(Math.max(...atOnce.map((count, at) => count - (atOnce[at - 1] ?? 0)))).toBeLessThan(100)
})
