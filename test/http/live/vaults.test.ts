import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { DatabaseUnavailable } from '../../../src/database/errors.ts'
import type { LiveObserver } from '../../../src/http/live/delivery/live-connections.ts'
import { emptyDatabase, readingBy, type TestDatabase } from '../../support/database.ts'
import { deferred } from '../../support/deferred.ts'
import { type LiveClient, liveGateway, type LiveGateway, openStream } from '../../support/live.ts'
import { addressOf, apply, deposit, mark, midnight, opened, position, strategy, vaultA } from '../../support/world.ts'

const [first, second] = [addressOf(1), addressOf(2)]
const versionPattern = /^[1-9]\d*\.\d+$/

let database: TestDatabase
let gateway: LiveGateway
let now = midnight
const clients: LiveClient[] = []
const observer = {
  onStreams: vi.fn(),
  onStreamClosed: vi.fn(),
  onStreamRefused: vi.fn(),
  onEvaluation: vi.fn(),
  onDelivery: vi.fn(),
} satisfies LiveObserver

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, [
    strategy('calm'),
    ...[first, second, vaultA].flatMap((vault) => [opened(vault, 'calm', ++now), deposit(vault, ++now, '100')]),
  ])
})

beforeEach(async () => {
  vi.clearAllMocks()
  gateway = await liveGateway(database, { observer: { live: observer }, liveLimits: { connectionsOfSender: 60 } })
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await gateway.close()
})

async function follow(query: string, headers: Record<string, string> = {}): Promise<LiveClient> {
  const client = await openStream(gateway.server.origin, `/live/vaults?${query}`, { headers })
  clients.push(client)
  return client
}

function markOf(vault: string, value: string) {
  return mark(vault, ++now, value, { positions: [position('p')] })
}

async function snapshotOf(vault: string): Promise<{ text: string; version: string | null }> {
  const response = await gateway.get(`/vault/${vault}/snapshot`)
  return { text: await response.text(), version: response.headers.get('data-version') }
}

describe('a stream of snapshots', () => {
  test('begins with the snapshot of each vault, byte for byte, with its version', async () => {
    const client = await follow(`vault=${first},${second}`)
    expect(client.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'access-control-allow-origin': '*',
    })
    const events = await client.until('snapshot', 2)
    const expected = await Promise.all([first, second].map(snapshotOf))
    expect(events.map(({ data }) => data).sort()).toEqual(expected.map(({ text }) => text).sort())
    for (const { id } of events) expect(id).toBe(expected[0]?.version)
    for (const { id } of events) expect(id).toMatch(versionPattern)
  })

  test('sends each change, evaluated once for all streams, with the bytes of its path at that version', async () => {
    const streams = await Promise.all(Array.from({ length: 50 }, () => follow(`vault=${first}`)))
    for (const stream of streams) await stream.until('snapshot', 1)
    observer.onEvaluation.mockClear()
    await apply(database, [markOf(first, '150')])
    for (const stream of streams) await stream.until('snapshot', 2)
    // After an event, a client may read its data: the gateway has recorded the commit.
    const after = await snapshotOf(first)
    expect(after.text).toContain('"valueUsd":150')
    for (const stream of streams) {
      const [, changed] = await stream.until('snapshot', 2)
      expect(changed?.data).toBe(after.text)
      expect(changed?.id).toBe(after.version)
    }
    expect(observer.onEvaluation).toHaveBeenCalledTimes(1)
    expect(streams.every(({ events }) => events.filter(({ event }) => event === 'snapshot').length === 2)).toBe(true)
  })

  test('sends nothing for changes of other vaults, nor if the bytes are equal', async () => {
    const client = await follow(`vault=${first}`)
    await client.until('snapshot', 1)
    await apply(database, [markOf(second, '333')])
    await wait(400)
    expect(client.events.filter(({ event }) => event === 'snapshot')).toHaveLength(1)
  })

  test('pushes at most once in 250 ms, the newest snapshot', async () => {
    const client = await follow(`vault=${first}`)
    await client.until('snapshot', 1)
    const began = performance.now()
    for (let value = 200; value < 230; value++) {
      await apply(database, [markOf(first, String(value))])
      await wait(10)
    }
    await expect.poll(() => client.lastData()).toContain('"valueUsd":229')
    const maxPushes = 2 + Math.ceil((performance.now() - began) / 250)
    expect(client.events.filter(({ event }) => event === 'snapshot').length).toBeLessThanOrEqual(1 + maxPushes)
  })

  test('accepts each spelling of an address, and follows a vault once', async () => {
    const client = await follow(`vault=${first.toUpperCase().replace('0X', '0x')},${first}`)
    await client.until('snapshot', 1)
    await apply(database, [markOf(first, '77')])
    await client.until('snapshot', 2)
    await wait(300)
    expect(client.events.filter(({ event }) => event === 'snapshot')).toHaveLength(2)
  })

  test.each([
    ['', 400, 'vault is missing'],
    ['vault=', 400, 'which is no address'],
    ['vault=0x12', 400, 'which is no address'],
    [`vault=${first}&vault=${second}`, 400, 'is given 2 times'],
    [`vault=0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741a`, 400, 'vault'],
    [`vault=${Array.from({ length: 101 }, (_, index) => addressOf(index)).join()}`, 400, 'more than 100'],
    [`vault=${first},${addressOf(99)}`, 404, 'no vault is known'],
  ])('is refused for %s', async (query, status, detail) => {
    const client = await follow(query)
    await client.ended
    expect(client.status).toBe(status)
    expect(client.headers['content-type']).toBe('application/problem+json; charset=utf-8')
    expect(client.text()).toContain(detail)
  })

  test('answers HEAD, OPTIONS and other methods as other paths do', async () => {
    const path = `/live/vaults?vault=${first}`
    const ask = async (method: string) => {
      const client = await openStream(gateway.server.origin, path, { method })
      await client.ended
      return client
    }
    expect(await ask('HEAD')).toMatchObject({ status: 200, events: [] })
    expect(await ask('OPTIONS')).toMatchObject({ status: 204, headers: { allow: 'GET, HEAD, OPTIONS' } })
    expect(await ask('POST')).toMatchObject({ status: 405 })
    await expect.poll(() => gateway.server.running()).toBe(0)
  })
})

describe('Last-Event-ID', () => {
  test('of this history is followed by the current snapshot', async () => {
    const before = await follow(`vault=${first}`)
    await before.until('snapshot', 1)
    before.close()
    await apply(database, [markOf(first, '555')])
    await expect.poll(async () => (await snapshotOf(first)).text).toContain('"valueUsd":555')
    const after = await follow(`vault=${first}`, { 'last-event-id': before.lastId() ?? '' })
    const [event] = await after.until('snapshot', 1)
    expect(event?.data).toBe((await snapshotOf(first)).text)
    expect(after.events.filter(({ event }) => event === 'reset')).toEqual([])
  })

  test.each(['1.42', '99999999.1', 'nonsense'])(
    '%s of another history gets a reset, and then the snapshot',
    async (id) => {
      const client = await follow(`vault=${first}`, { 'last-event-id': id })
      await client.until('snapshot', 1)
      expect(client.events.map(({ event }) => event).filter((event) => event !== null)).toEqual(['reset', 'snapshot'])
      expect(JSON.parse(client.events.find(({ event }) => event === 'reset')?.data ?? '')).toMatchObject({
        type: 'urn:vault-gateway:problem:history-changed',
      })
    },
  )
})

test('a stream that is opened while the database is unreachable follows a vault once, for any spelling of its address', async () => {
  let isAway = true
  const unreachable = Object.assign(Object.create(database) as TestDatabase, {
    read: async (...asked: Parameters<TestDatabase['read']>) => {
      if (isAway) throw new DatabaseUnavailable('the database is away')
      return database.read(...asked)
    },
    snapshot: (...asked: Parameters<TestDatabase['snapshot']>) => database.snapshot(...asked),
  })
  const other = await liveGateway(unreachable)
  try {
    const spellings = [vaultA, vaultA.toUpperCase().replace('0X', '0x')]
    const client = await openStream(other.server.origin, `/live/vaults?vault=${spellings.join()}`)
    await client.until('stale', 1)
    isAway = false
    await client.until('snapshot', 1)
    await apply(database, [markOf(vaultA, '88')])
    await expect.poll(() => client.lastData()).toContain('"valueUsd":88')
    await wait(1_500)
    const bodies = client.events.flatMap(({ event, data }) => (event === 'snapshot' ? data : []))
    expect(new Set(bodies).size).toBe(bodies.length)
    client.close()
  } finally {
    await other.close()
  }
})

test('a stream whose first snapshot failed begins with a notice of it, while the next one is being read', async () => {
  let reads = 0
  const next = deferred()
  let isOverdue = false
  const failingOnce = readingBy(database, async (statement, values, signal, reader) => {
    if (reads++ === 0) throw new DatabaseUnavailable('away')
    signal.addEventListener('abort', { handleEvent: () => (isOverdue = true) })
    await next.promise
    return reader.read(statement, values, signal)
  })
  const other = await liveGateway(failingOnce)
  onTestFinished(() => other.close())
  const client = await openStream(other.server.origin, `/live/vaults?vault=${first}`)
  onTestFinished(client.close)
  const [stale] = await client.until('stale', 1)
  expect(JSON.parse(stale?.data ?? '')).toMatchObject({ status: 503, vault: first })
  expect(isOverdue).toBe(false)
  next.resolve()
  await client.until('snapshot', 1)
  expect(client.events.flatMap(({ event }) => event ?? [])).toEqual(['stale', 'snapshot'])
})

test('without notifications of commits, a stream reports stale data once, and sends its snapshot when they resume', async () => {
  const client = await follow(`vault=${first},${second}`)
  await client.until('snapshot', 2)
  gateway.listener.listening(false)
  await client.until('stale', 1)
  gateway.listener.listening(false)
  gateway.listener.listening(true)
  const { version } = await database.prisma.dataHead.findFirstOrThrow()
  gateway.listener.committed({ version, newestTs: null, tags: null })
  await client.until('snapshot', 4)
  expect(client.events.map(({ event }) => event).filter((event) => event !== null)).toEqual([
    ...['snapshot', 'snapshot', 'stale', 'snapshot', 'snapshot'],
  ])
})

test('a stream reports stale data of the vault whose snapshot fails, also where another one was sent since', async () => {
  let failing: string | null = null
  const failingOfOne = readingBy(database, (statement, values, signal, reader) =>
    failing !== null && JSON.stringify(values).includes(failing)
      ? Promise.reject(new DatabaseUnavailable('away'))
      : reader.read(statement, values, signal),
  )
  const other = await liveGateway(failingOfOne)
  onTestFinished(() => other.close())
  const client = await openStream(other.server.origin, `/live/vaults?vault=${first},${second}`)
  onTestFinished(client.close)
  await client.until('snapshot', 2)
  failing = second
  await apply(database, [markOf(second, '7')])
  await client.until('stale', 1)
  await apply(database, [markOf(first, '8')])
  await client.until('snapshot', 3)
  failing = null
  await client.until('snapshot', 4)
  const received = client.events.flatMap(({ event, data }) =>
    event === null || data === null ? [] : [{ event, data }],
  )
  const named = received.slice(2).map(({ event, data }) => {
    const { vault, address } = JSON.parse(data) as { readonly vault?: string; readonly address?: string }
    return [event, vault ?? address]
  })
  expect(named).toEqual([
    ['stale', second],
    ['snapshot', first],
    ['snapshot', second],
  ])
})

test('an unexpected error is reported once, however often the snapshot is retried, and the stream continues', async () => {
  let error: Error | null = null
  const failing = readingBy(database, (statement, values, signal, reader) =>
    error === null ? reader.read(statement, values, signal) : Promise.reject(error),
  )
  const other = await liveGateway(failing, { observer: { live: observer } })
  try {
    const client = await openStream(other.server.origin, `/live/vaults?vault=${vaultA}`)
    await client.until('snapshot', 1)
    const fails = async (times: number): Promise<void> => {
      error = new Error(`42P01 ${times}`)
      const tries = observer.onEvaluation.mock.calls.length
      await apply(database, [markOf(vaultA, String(1_000 + times))])
      await expect.poll(() => observer.onEvaluation.mock.calls.length).toBeGreaterThan(tries + 1)
      await client.until('stale', times)
      expect(other.reported).toHaveLength(times)
      error = null
      await client.until('snapshot', 1 + times)
    }
    await fails(1)
    await fails(2)
    expect(client.events.map(({ event }) => event).filter((event) => event !== null)).toEqual([
      ...['snapshot', 'stale', 'snapshot', 'stale', 'snapshot'],
    ])
    client.close()
  } finally {
    await other.close()
  }
})
