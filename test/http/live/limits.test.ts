import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { AppOptions } from '../../../src/http/app.ts'
import { discardedBytes } from '../../../src/limits/connections.ts'
import { liveLimits } from '../../../src/limits/live.ts'
import { createMetrics } from '../../../src/http/ops/metrics.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { type LiveClient, liveGateway, type LiveGateway, openStream } from '../../support/live.ts'
import { parseMetrics } from '../../support/prometheus.ts'
import { rawConnection } from '../../support/raw.ts'
import { addressOf, apply, deposit, midnight, opened, strategy } from '../../support/world.ts'

const vault = addressOf(1)

let database: TestDatabase
let gateway: LiveGateway
let metrics: ReturnType<typeof createMetrics>
let now = midnight
const clients: Pick<LiveClient, 'close'>[] = []

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, [strategy('calm'), opened(vault, 'calm', ++now), deposit(vault, ++now, '100')])
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await gateway.close()
})

async function begin(limits: AppOptions['liveLimits'], options: Partial<AppOptions> = {}): Promise<void> {
  metrics = createMetrics()
  gateway = await liveGateway(database, { observer: { live: metrics.live }, liveLimits: limits, ...options })
}

async function follow(headers: Record<string, string> = {}): Promise<LiveClient> {
  const client = await openStream(gateway.server.origin, `/live/vaults?vault=${vault}`, { headers })
  clients.push(client)
  return client
}

async function subscribe(fields: string): Promise<LiveClient> {
  const path = `/graphql?query=${encodeURIComponent(`subscription { ${fields} }`)}`
  const client = await openStream(gateway.server.origin, path, { headers: { accept: 'text/event-stream' } })
  clients.push(client)
  return client
}

async function metricValue(name: string, reason?: string): Promise<number> {
  const samples = parseMetrics(await metrics.text()).get(`vault_gateway_live_${name}`)?.samples ?? []
  return samples.find(({ labels }) => reason === undefined || labels['reason'] === reason)?.value ?? NaN
}

describe('streams', () => {
  test('of one address are limited, and free their places when they close', async () => {
    await begin({ connectionsOfSender: 2 })
    const first = await follow()
    await follow()
    const refused = await follow()
    await refused.ended
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '4'])
    expect(JSON.parse(refused.text())).toMatchObject({ type: 'urn:vault-gateway:problem:too-many-streams' })
    first.close()
    await expect.poll(() => metricValue('streams')).toBe(1)
    expect((await follow()).status).toBe(200)
    expect(await metricValue('streams_refused_total')).toBe(1)
  })

  test.each([
    ['a comment', '{ __typename } # no subscription'],
    ['a string', '{ strategies { vaults(where: { venue: ["a subscription"] }) { totalCount } } }'],
    ['an alias', '{ subscription: __typename }'],
    ['an operation that is not selected', 'query Q { __typename } subscription S { meta { version } }'],
  ])('take no place for a query with the word subscription in %s', async (_, query) => {
    await begin({ connectionsOfSender: 1 })
    await follow()
    const path = `/graphql?operationName=${query.startsWith('query') ? 'Q' : ''}&query=${encodeURIComponent(query)}`
    const client = await openStream(gateway.server.origin, path, { headers: { accept: 'text/event-stream' } })
    await client.ended
    expect(client.status).toBe(200)
    expect(JSON.parse(client.events[0]?.data ?? '')).not.toHaveProperty('errors')
    expect(await metricValue('streams_refused_total')).toBe(0)
  })

  test('are limited by API key, and need one', async () => {
    const keys = ['the-first-key-of-all', 'the-second-key-of-all']
    await begin({ connectionsOfSender: 1 }, { apiKeys: keys })
    const statuses: number[] = []
    for (const key of [null, ...keys, ...keys]) {
      statuses.push((await follow(key === null ? {} : { authorization: `Bearer ${key}` })).status)
    }
    expect(statuses).toEqual([401, 200, 200, 429, 429])
  })

  test('count against a rate limit once', async () => {
    await begin({}, { rateLimit: { requests: 2, seconds: 60 } })
    expect([(await follow()).status, (await follow()).status, (await follow()).status]).toEqual([200, 200, 429])
  })

  test('do not retain the body of a request, and end if it is incomplete', async () => {
    await begin({})
    const client = await rawConnection(gateway.server.port)
    client.send(`GET /live/vaults?vault=${vault} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n`)
    await client.receives(/event: snapshot/)
    client.send('x'.repeat(discardedBytes / 2))
    await expect.poll(() => client.socket.writableLength).toBe(0)
    expect(await metricValue('streams')).toBe(1)
    client.send('x'.repeat(discardedBytes))
    await client.closed
    await expect.poll(() => metricValue('streams')).toBe(0)
  })

  test('of the process are limited', async () => {
    await begin({ connections: 2 })
    expect([(await follow()).status, (await follow()).status, (await follow()).status]).toEqual([200, 200, 503])
  })

  test('of one IPv6 network have a fair share of the remaining places', async () => {
    await begin({ connections: 8 }, { trustedProxies: 1 })
    const from = async (network: number): Promise<number[]> => {
      const statuses: number[] = []
      for (let at = 0; at < 6; at++) {
        statuses.push((await follow({ 'x-forwarded-for': `2001:db8:${network}:${at}::1` })).status)
      }
      return statuses
    }
    expect(await from(1)).toEqual([200, 200, 200, 200, 503, 503])
    expect(await from(2)).toEqual([200, 503, 503, 503, 503, 503])
  })

  test('after a pipelined response that is not read are closed as well, when they stall', async () => {
    const limits = { heartbeatSeconds: 0.1, stallSeconds: 0.3, unsentBytes: 1 }
    await begin(limits, { pageFolders: { graphiql: null, explorer: null } })
    const raw = await rawConnection(gateway.server.port)
    clients.push({ close: () => raw.socket.destroy() })
    raw.socket.pause()
    const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`
    raw.send(get('/docs/swagger-ui-bundle.js').repeat(5) + get(`/live/vaults?vault=${vault}`))
    await expect.poll(() => metricValue('streams')).toBe(1)
    await expect.poll(() => metricValue('streams_closed_total', 'slow')).toBe(1)
    await expect.poll(() => gateway.server.running()).toBe(0)
  })

  test.each([
    ['DELETE', 'application/json', 405],
    ['PUT', 'application/json', 405],
    ['POST', 'text/plain', 415],
  ])('do not begin by %s of %s', async (method, type, status) => {
    await begin({})
    const client = await openStream(gateway.server.origin, '/graphql', {
      method,
      headers: { accept: 'text/event-stream', 'content-type': type },
      body: JSON.stringify({ query: 'subscription { meta { version } }' }),
    })
    clients.push(client)
    expect(client.status).toBe(status)
  })

  test('get heartbeats', async () => {
    await begin({ heartbeatSeconds: 0.1 })
    const { events } = await follow()
    await expect.poll(() => events.filter(({ comment }) => comment !== null).length).toBeGreaterThan(2)
  })

  test('end at their maximum age, after which clients reconnect at a random time', async () => {
    await begin({ heartbeatSeconds: 0.1, lifeSeconds: 0.3 })
    const client = await follow()
    await client.ended
    const retry = Number(client.events.at(-1)?.retry)
    expect(retry).toBeGreaterThanOrEqual(2_000)
    expect(retry).toBeLessThanOrEqual(6_000)
    await expect.poll(() => metricValue('streams_closed_total', 'age')).toBe(1)
  })

  test('of each kind send the configured reconnection time', async () => {
    await begin({ retrySeconds: 7 })
    const rows = await openStream(gateway.server.origin, '/live/events')
    clients.push(rows)
    const all = [await follow(), rows, await subscribe('meta { version }'), await subscribe('ledger { cursor }')]
    for (const { events } of all) await expect.poll(() => events[0]?.retry).toBe('7000')
  })

  test('of subscriptions are refused over the configured length', async () => {
    await begin({ characters: 40 })
    expect((await subscribe('meta { version }')).status).toBe(200)
    expect((await subscribe('meta { version newestFactAt }')).status).toBe(413)
  })

  test('end when the gateway stops, new ones immediately, so that clients reconnect', async () => {
    await begin({})
    const client = await follow()
    gateway.app.live.endAll()
    await client.ended
    const late = [await follow(), await subscribe('meta { version }')]
    for (const { status } of late) expect(status).toBe(200)
    await Promise.all(late.map(({ ended }) => ended))
    for (const { events } of [client, ...late]) expect(events.at(-1)?.retry).toMatch(/^\d{4}$/)
    await expect.poll(() => metricValue('streams_closed_total', 'stop')).toBe(3)
  })

  test('do not count as other connections', async () => {
    await begin({})
    await Promise.all(Array.from({ length: liveLimits.connectionsOfSender }, () => follow()))
    expect((await fetch(`${gateway.server.origin}/vault/${vault}/snapshot`)).status).toBe(200)
  })
})
