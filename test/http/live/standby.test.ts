import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { readVersionAt } from '../../../src/database/read/commit-log.ts'
import { DatabaseUnavailable } from '../../../src/database/errors.ts'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { createResponseCache, type ResponseCache } from '../../../src/http/cache/response-cache.ts'
import { createLedgerLog, type LedgerPosition } from '../../../src/graphql/ledger-log.ts'
import { emptyDatabase, readingBy, type TestDatabase } from '../../support/database.ts'
import { type LiveClient, liveGateway, type LiveGateway, openStream } from '../../support/live.ts'
import { addressOf, apply, deposit, event, midnight, opened, strategy } from '../../support/world.ts'

const nothing = (): void => undefined
const vault = addressOf(1)
/** Longer than the polling interval of a delayed stream. */
const long = 1_500

let database: TestDatabase
let standby: LiveGateway
let versions: DataVersions
let cache: ResponseCache
/** The newest commit that the standby shows. */
let reached: LedgerPosition
let now: number
/** Number of reads of rows from the database. */
let reads: number
/** Called once, at the next read of rows. */
let onRead: () => void
/** Number of lookups of old versions that succeed; later ones fail. */
let lookups: number
/** Whether the standby does not show any vault yet. */
let isHidden: boolean

beforeEach(async () => {
  database = await emptyDatabase()
  now = midnight
  reads = 0
  onRead = nothing
  lookups = Infinity
  isHidden = false
  await apply(database, [strategy('calm'), opened(vault, 'calm', ++now), deposit(vault, ++now, '100')])
  const log = createLedgerLog(database)
  reached = await log.end()
  versions = new DataVersions()
  cache = createResponseCache(4 * 1024 * 1024)
  cache.listening(true)
  versions.listening(true)
  versions.committed(versionOf(reached))
  const lagging = readingBy(database, async (statement, values, signal, reader) => {
    const text = JSON.stringify(values)
    const shown = JSON.parse(isHidden ? text.replaceAll(vault, addressOf(2)) : text) as typeof values
    const { rows, version } = await reader.read(statement, shown, signal)
    return { rows, version: version === null ? null : reached.version }
  })
  standby = await liveGateway(lagging, {
    versions,
    cache,
    versionAt: (seq) =>
      lookups-- > 0 ? readVersionAt(database, seq) : Promise.reject(new DatabaseUnavailable('too many ask')),
    ledgerLog: {
      end: () => Promise.resolve(reached),
      after: async (asked, vaults) => {
        reads++
        onRead()
        onRead = nothing
        if (asked.seq > reached.seq) return { kind: 'ahead' }
        const page = await log.after(asked, vaults)
        if (page.kind !== 'commits') return page
        const commits = page.commits.filter(({ seq }) => seq <= reached.seq)
        return commits.length === 0 ? { kind: 'none' } : { ...page, commits }
      },
    },
  })
})

afterEach(async () => {
  await standby.close()
})

const versionOf = ({ version }: LedgerPosition) => ({ version: version ?? '', newestTs: now })

/** Writes a commit of a row on the primary. */
async function commit(): Promise<LedgerPosition> {
  await apply(database, [event(vault, ++now, { type: 'harvest', amountUsd: '1.5', positionId: 'p' })])
  return createLedgerLog(database).end()
}

/** Has the standby replay the log up to a position. */
function replay(position: LedgerPosition): void {
  reached = position
  cache.committed({ tags: [vault] })
  versions.committed(versionOf(position))
  standby.app.live.committed({ tags: [vault] })
}

/** Has the gateway read from a server that shows the log up to a position. */
function moveTo(position: LedgerPosition): void {
  for (const isListening of [false, true]) {
    cache.listening(isListening)
    versions.listening(isListening)
    standby.app.live.listening(isListening)
    reached = position
  }
  replay(position)
}

const eventsOf = ({ events }: LiveClient) => events.flatMap(({ event }) => event ?? [])
const follow = (path: string, headers: Record<string, string> = {}) =>
  openStream(standby.server.origin, path, { headers })

/** Waits until these events have been received, and checks that no other follows for some time. */
async function isAll(
  received: () => readonly string[],
  expected: readonly string[],
  milliseconds = 200,
): Promise<void> {
  await expect.poll(received).toEqual(expected)
  await wait(milliseconds)
  expect(received()).toEqual(expected)
}

describe('rows after a position that a standby has not reached yet', () => {
  test('are sent when it has, without a notice if that is soon', async () => {
    const position = await commit()
    // Soon after the stream has missed the position: by a timer of this process that fires before that of its wait.
    onRead = () => void setTimeout(replay, 300, position)
    const client = await follow(`/live/events?after=${position.version ?? ''}`)
    await expect.poll(() => reached).toBe(position)
    replay(await commit())
    await client.until('event', 1)
    expect(eventsOf(client)).toEqual(['event'])
    client.close()
  })

  test('are sent when it has, and reported as stale until then, to any number of clients', async () => {
    const position = await commit()
    const clients = await Promise.all(
      Array.from({ length: 20 }, () => follow('/live/events', { 'last-event-id': `${position.version ?? ''}.1` })),
    )
    await Promise.all(clients.map((client) => isAll(() => eventsOf(client), ['stale'], long)))
    replay(position)
    await Promise.all(clients.map((client) => client.until('fresh', 1)))
    replay(await commit())
    await Promise.all(clients.map((client) => client.until('event', 1)))
    expect(clients.map(eventsOf)).toEqual(clients.map(() => ['stale', 'fresh', 'event']))
    for (const client of clients) client.close()
  })

  test('are not read from the database for each client that waits', async () => {
    const position = await commit()
    const id = `${position.version ?? ''}.1`
    const clients = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        follow('/live/events', { 'last-event-id': n < 10 ? id : `${reached.seq + 5}.42` }),
      ),
    )
    await Promise.all(clients.map((client) => isAll(() => eventsOf(client), ['stale'], long)))
    // Each stream has read once, when it began.
    expect(reads).toBeLessThanOrEqual(clients.length)
    reads = 0
    replay(position)
    await Promise.all(clients.slice(0, 10).map((client) => client.until('fresh', 1)))
    versions.upToDate(performance.now())
    await Promise.all(clients.slice(10).map((client) => client.until('reset', 1)))
    // The commit that is replayed is read once for all of them.
    expect(reads).toBeLessThan(5)
    for (const client of clients) client.close()
  })

  test('are sent once even if an open stream moves to the standby', async () => {
    const before = reached
    const client = await follow('/live/events')
    const position = await commit()
    replay(position)
    await client.until('event', 1)
    moveTo(before)
    await isAll(() => eventsOf(client), ['event', 'stale'], long)
    const next = await commit()
    replay(next)
    await client.until('event', 2)
    expect(eventsOf(client)).toEqual(['event', 'stale', 'event', 'fresh'])
    expect(client.events.flatMap(({ id, event }) => (event === 'event' ? id : []))).toEqual(
      [position, next].map(({ version }) => `${version ?? ''}.1`),
    )
    client.close()
  })

  test('are lost if every commit until now is proven to be present', async () => {
    const client = await follow(`/live/events?after=${reached.seq + 5}.42`)
    await isAll(() => eventsOf(client), ['stale'], long)
    versions.upToDate(performance.now())
    const [reset] = await client.until('reset', 1)
    expect(reset?.id).toBe(reached.version)
    client.close()
  })
})

describe('snapshots after a version that a standby has not reached yet', () => {
  test('are withheld until it has, even if the vault is unchanged, and reported as stale meanwhile', async () => {
    const position = await commit()
    const client = await follow(`/live/vaults?vault=${vault}`, { 'last-event-id': position.version ?? '' })
    await isAll(() => eventsOf(client), ['stale'], long)
    reached = position
    versions.committed(versionOf(position))
    standby.app.live.committed({ tags: ['another'] })
    const [snapshot] = await client.until('snapshot', 1)
    expect(snapshot?.id).toBe(position.version)
    expect(eventsOf(client)).toEqual(['stale', 'snapshot'])
    client.close()
  })

  test('are withheld even if the standby does not have the vault yet', async () => {
    const late = addressOf(2)
    const client = await follow(`/live/vaults?vault=${late}`, { 'last-event-id': `${reached.seq + 1}.42` })
    expect(client.status).toBe(200)
    await apply(database, [opened(late, 'calm', ++now), deposit(late, ++now, '100')])
    const position = await createLedgerLog(database).end()
    replay(position)
    await client.until('snapshot', 1)
    // The number belongs to a commit of another history.
    expect(eventsOf(client)).toEqual(['stale', 'reset', 'snapshot'])
    client.close()
  })

  test('are reset when every commit until then is later proven to be present', async () => {
    const client = await follow(`/live/vaults?vault=${vault}`, { 'last-event-id': `${reached.seq + 5}.42` })
    await isAll(() => eventsOf(client), ['stale'])
    versions.upToDate(performance.now())
    await client.until('snapshot', 1)
    expect(eventsOf(client)).toEqual(['stale', 'reset', 'snapshot'])
    client.close()
  })

  test('are withheld for a new server that lags behind, too', async () => {
    const position = await commit()
    const client = await follow(`/live/vaults?vault=${vault}`, { 'last-event-id': position.version ?? '' })
    const before = performance.now()
    moveTo(reached)
    versions.upToDate(before)
    await isAll(() => eventsOf(client), ['stale'])
    replay(position)
    await client.until('snapshot', 1)
    expect(eventsOf(client)).toEqual(['stale', 'snapshot'])
    client.close()
  })

  test('are reported as stale once, after one wait, without notifications of commits', async () => {
    versions.listening(false)
    standby.app.live.listening(false)
    const waits = vi.spyOn(versions, 'waitUntil')
    const client = await follow(`/live/vaults?vault=${vault}`, { 'last-event-id': reached.version ?? '' })
    // The second wait, for proof that the version is lost, ends immediately.
    expect(waits.mock.calls.map(([isOver]) => isOver())).toEqual([false, true])
    await isAll(() => eventsOf(client), ['stale'])
    moveTo(reached)
    await client.until('snapshot', 1)
    expect(eventsOf(client)).toEqual(['stale', 'snapshot'])
    client.close()
  })

  test.each([
    ['the same history', (version: string) => version, ['stale', 'snapshot']],
    ['another history', (version: string) => `${Number.parseInt(version, 10)}.42`, ['stale', 'reset', 'snapshot']],
  ])('are held back while too many versions are looked up, one of %s', async (_, idOf, events) => {
    const old = reached
    replay(await commit())
    // The first version is in the log alone.
    moveTo(reached)
    lookups = 0
    const client = await follow(`/live/vaults?vault=${vault}`, { 'last-event-id': idOf(old.version ?? '') })
    await isAll(() => eventsOf(client), ['stale'])
    lookups = Infinity
    await client.until('snapshot', 1)
    expect(eventsOf(client)).toEqual(events)
    client.close()
  })

  test('are not lost by the proof of an earlier server', async () => {
    const old = reached
    const before = { seq: old.seq - 1, version: `${old.seq - 1}.42`, rows: null }
    replay(await commit())
    // The version is in the log alone, which does not answer.
    moveTo(reached)
    lookups = 0
    const client = await follow(`/live/vaults?vault=${vault}`, { 'last-event-id': old.version ?? '' })
    await wait(100)
    versions.upToDate(performance.now())
    moveTo(before)
    await isAll(() => eventsOf(client), ['stale'], long)
    lookups = Infinity
    replay(old)
    await client.until('snapshot', 1)
    expect(eventsOf(client)).toEqual(['stale', 'snapshot'])
    client.close()
  })

  test('are of a vault that came with that version', async () => {
    const before = reached
    const position = await commit()
    isHidden = true
    const opening = follow(`/live/vaults?vault=${vault}`, { 'last-event-id': position.version ?? '' })
    await wait(300)
    isHidden = false
    replay(position)
    const client = await opening
    expect([client.status, position.seq]).toEqual([200, before.seq + 1])
    const [snapshot] = await client.until('snapshot', 1)
    expect(snapshot?.id).toBe(position.version)
    client.close()
  })

  test('begin with a reset if every commit until now is proven to be present', async () => {
    const opening = follow(`/live/vaults?vault=${vault}`, { 'last-event-id': `${reached.seq + 5}.42` })
    // The proof is newer than the request.
    const proving = setInterval(() => versions.upToDate(performance.now()), 20)
    const client = await opening
    clearInterval(proving)
    await expect.poll(() => eventsOf(client)).toEqual(['reset', 'snapshot'])
    client.close()
  })
})

describe('results of a subscription after a version that a standby has not reached yet', () => {
  const query = `subscription { vault(address: "${vault}") { events(first: 1) { nodes { id type } } } }`
  const subscribe = (id: string, text = query) =>
    follow(`/graphql?${new URLSearchParams({ query: text }).toString()}`, {
      accept: 'text/event-stream',
      'last-event-id': id,
    })
  const eventsAndComments = ({ events }: LiveClient) => events.flatMap(({ event, comment }) => event ?? comment ?? [])

  test('are withheld until it has, and reported as stale meanwhile', async () => {
    const position = await commit()
    const client = await subscribe(position.version ?? '')
    await isAll(() => eventsAndComments(client), ['stale'], long)
    replay(position)
    const [result] = await client.until('next', 1)
    expect([result?.id, result?.data]).toEqual([position.version, expect.stringContaining('HARVEST')])
    expect(eventsAndComments(client)).toEqual(['stale', 'next'])
    client.close()
  })

  test('are withheld even if other streams have older results', async () => {
    const other = await subscribe('')
    await other.until('next', 1)
    const position = await commit()
    const client = await subscribe(position.version ?? '')
    await isAll(() => eventsAndComments(client), ['stale'])
    replay(position)
    await Promise.all([client.until('next', 1), other.until('next', 2)])
    expect(client.events.flatMap(({ data }) => data ?? [])).toEqual([other.events.findLast(({ data }) => data)?.data])
    for (const each of [client, other]) each.close()
  })

  test.each([
    ['of another history', () => `${reached.seq}.42`],
    ['that is none', () => 'yesterday'],
  ])('follow at once behind an id %s', async (_, idOf) => {
    const client = await subscribe(idOf())
    await client.until('next', 1)
    expect(eventsAndComments(client)).toEqual(['reset', 'next'])
    client.close()
  })

  test('are sent anew when every commit until then is later proven to be present', async () => {
    const client = await subscribe(`${reached.seq + 5}.42`, 'subscription { meta { version } }')
    await isAll(() => eventsAndComments(client), ['stale'])
    versions.upToDate(performance.now())
    const [result] = await client.until('next', 1)
    expect(eventsAndComments(client)).toEqual(['stale', 'reset', 'next'])
    expect(result?.data).toContain(reached.version)
    client.close()
  })

  test('are refused immediately if the subscription is refused', async () => {
    const client = await subscribe(`${reached.seq + 5}.42`, 'subscription { vault(address: "0x1") { status } }')
    expect(client.status).toBe(400)
  })
})
