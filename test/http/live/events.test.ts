import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createLedgerLog } from '../../../src/graphql/ledger-log.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { type LiveClient, liveGateway, type LiveGateway, openStream, type ReceivedEvent } from '../../support/live.ts'
import { addressOf, apply, deposit, event, midnight, opened, strategy } from '../../support/world.ts'

const vaults = [addressOf(1), '0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A'] as const

let database: TestDatabase
let gateway: LiveGateway
let now: number
const clients: LiveClient[] = []

beforeEach(async () => {
  database = await emptyDatabase()
  now = midnight
  await apply(database, [
    strategy('calm'),
    ...vaults.flatMap((vault) => [opened(vault, 'calm', ++now), deposit(vault, ++now, '100')]),
  ])
  gateway = await liveGateway(database)
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await gateway.close()
})

async function follow(query = '', headers: Record<string, string> = {}): Promise<LiveClient> {
  const client = await openStream(gateway.server.origin, `/live/events?${query}`, { headers })
  clients.push(client)
  return client
}

/** Writes a commit with this number of rows of a vault. */
async function commit(vault: string = vaults[0], rows = 1, type: 'harvest' | 'plant' = 'harvest'): Promise<void> {
  const details = type === 'harvest' ? { type, amountUsd: '1.5', positionId: 'p' } : { type, positionId: 'p' }
  await apply(
    database,
    Array.from({ length: rows }, () => event(vault, ++now, details as Parameters<typeof event>[2])),
  )
}

/** Returns the rows of all vaults from their REST paths, the oldest first. */
async function ledgers(): Promise<string[]> {
  const rows = await Promise.all(
    vaults.map(async (vault) => {
      const text = await (await gateway.get(`/vault/${vault}/events?limit=1000`)).text()
      return text === '[]'
        ? []
        : text
            .slice(1, -1)
            .split(/,(?=\{)/)
            .map((row) => `{"vault":"${vault}",${row.slice(1)}`)
    }),
  )
  const tsOf = (row: string): number => (JSON.parse(row) as { ts: number }).ts
  return rows.flat().sort((first, second) => tsOf(first) - tsOf(second))
}

const dataOf = (events: readonly ReceivedEvent[]): (string | null)[] => events.map(({ data }) => data)

describe('a stream of ledger rows', () => {
  test('sends each new row like its REST path, with its vault, in order', async () => {
    const client = await follow()
    const before = (await ledgers()).length
    await commit(vaults[0], 3)
    await commit(vaults[1], 2)
    const events = await client.until('event', 5)
    expect(dataOf(events)).toEqual((await ledgers()).slice(before))
    expect(events.map(({ id }) => id?.replace(/\.\d+\./, '.'))).toEqual(['2.1', '2.2', '2.3', '3.1', '3.2'])
  })

  test('resumes after an id, by header or parameter, and after a data version', async () => {
    const first = await follow()
    await commit(vaults[0], 3)
    const [one] = await first.until('event', 3)
    first.close()
    await commit(vaults[1], 2)
    const all = (await ledgers()).slice(2)
    const id = one?.id ?? ''
    for (const client of [await follow('', { 'last-event-id': id }), await follow(`after=${id}`)]) {
      expect(dataOf(await client.until('event', 4))).toEqual(all.slice(1))
    }
    const version = id.split('.').slice(0, 2).join('.')
    expect(dataOf(await (await follow(`after=${version}`)).until('event', 2))).toEqual(all.slice(3))
    await commit(vaults[0], 1)
    const newest = (await ledgers()).at(-1)
    for (const client of clients.slice(1)) await expect.poll(() => client.lastData()).toEqual(newest)
  })

  test('sends an id before its first row, so that no row is missed in between', async () => {
    const client = await follow()
    await expect.poll(() => client.lastId()).toMatch(/^1\.\d+$/)
    client.close()
    await commit(vaults[0], 2)
    const again = await follow('', { 'last-event-id': client.lastId() ?? '' })
    expect(dataOf(await again.until('event', 2))).toEqual((await ledgers()).slice(2))
  })

  test('is filtered by vaults, in any spelling, and types, and its ids do not depend on the filter', async () => {
    const all = await follow()
    const ofVault = await follow(`vault=${vaults[1].toLowerCase()}`)
    const ofType = await follow('type=plant,rebalance')
    await commit(vaults[0], 2)
    await commit(vaults[1], 1, 'plant')
    await commit(vaults[1], 2)
    const events = await all.until('event', 5)
    expect(await ofVault.until('event', 3)).toEqual(events.slice(2))
    expect(await ofType.until('event', 1)).toEqual(events.slice(2, 3))
  })

  test.each([
    ['after=nonsense', 'after', 'after is neither the id of an event nor a Data-Version'],
    ['type=plant,nothing', 'type', 'type names "nothing", which is none of '],
    ['vault=0x12', 'vault', 'vault names "0x12", which is no address'],
    [
      'vault=0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A,0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741a',
      'vault',
      'vault: "0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741a" is not an address: its EIP-55 checksum is wrong',
    ],
  ])('is refused for %s', async (query, parameter, detail) => {
    const client = await follow(query)
    await client.ended
    expect(client.status).toBe(400)
    expect(JSON.parse(client.text())).toMatchObject({ parameter, detail: expect.stringContaining(detail) as string })
  })
})

describe('a position that is not part of the history', () => {
  test.each(['1.42', '7.42.1', '99999.1', 'nonsense'])(
    '%s gets a reset, from whose id the stream goes on',
    async (id) => {
      const client = await follow('', { 'last-event-id': id })
      const [reset] = await client.until('reset', 1)
      expect(JSON.parse(reset?.data ?? '')).toMatchObject({ type: 'urn:vault-gateway:problem:history-changed' })
      expect(reset?.id).toMatch(/^1\.\d+$/)
      await commit(vaults[0], 2)
      expect(dataOf(await client.until('event', 2))).toEqual((await ledgers()).slice(2))
      expect(client.events.filter(({ event }) => event === 'reset')).toHaveLength(1)
    },
  )

  test.each(['in memory', 'in the database'])(
    'because its commit has fewer rows, and is %s, gets a reset',
    async (where) => {
      const other = where === 'in memory' ? await follow() : undefined
      await expect.poll(() => other?.lastId()).not.toBeNull()
      await commit(vaults[0], 2)
      await other?.until('event', 2)
      const { version } = await createLedgerLog(database).end()
      const client = await follow(`after=${version ?? ''}.3`)
      expect((await client.until('reset', 1))[0]?.id).toBe(version)
      await commit(vaults[1], 1)
      expect(dataOf(await client.until('event', 1))).toEqual((await ledgers()).slice(4))
    },
  )

  test('that was pruned gets a reset, and so does one before rows had commits', async () => {
    const log = createLedgerLog(database)
    const start = await log.end()
    await commit(vaults[0], 1)
    await commit(vaults[0], 1)
    const between = await log.end()
    await commit(vaults[0], 1)
    expect(await log.after(start, null)).toMatchObject({ kind: 'commits' })
    await database.prisma.$executeRawUnsafe(
      `update commit_log set ledger_rows = null where seq = ${String(between.seq)}`,
    )
    expect(await log.after(start, null)).toEqual({ kind: 'lost' })
    expect(await log.after({ ...between, rows: 0 }, null)).toEqual({ kind: 'lost' })
    expect(await log.after(between, null)).toMatchObject({ commits: [{ seq: between.seq + 1 }] })
    await database.prisma.$executeRawUnsafe(`delete from commit_log where seq <= ${String(between.seq)}`)
    expect(await log.after(between, null)).toEqual({ kind: 'lost' })
    expect(await log.after({ seq: 0, version: null, rows: null }, null)).toEqual({ kind: 'lost' })
  })

  test('after the history has changed, an open stream gets a reset too', async () => {
    const client = await follow()
    await commit(vaults[0], 1)
    await client.until('event', 1)
    // Like a failover that lost the newest commit, and continued with another of the same number.
    await database.prisma.$executeRawUnsafe(
      `with lost as (delete from ledger_row where commit_nonce = (select split_part(version, '.', 2)::bigint from data_head))
       update data_head set version = seq || '.5'`,
    )
    await database.prisma.$executeRawUnsafe(
      `update commit_log set version = seq || '.5', ledger_rows = 0 where seq = 2`,
    )
    gateway.listener.listening(false)
    gateway.listener.listening(true)
    const [reset] = await client.until('reset', 1)
    expect(reset?.id).toBe('2.5')
    await commit(vaults[1], 2)
    expect((await client.until('event', 3)).slice(1).map(({ id }) => id?.split('.')[0])).toEqual(['3', '3'])
  })
})

test('a stream that began before the first commit resumes after it', async () => {
  const empty = await emptyDatabase()
  const other = await liveGateway(empty)
  try {
    const first = await openStream(other.server.origin, '/live/events')
    await expect.poll(() => first.lastId()).not.toBeNull()
    first.close()
    await apply(empty, [strategy('calm'), opened(vaults[0], 'calm', ++now), deposit(vaults[0], ++now, '100')])
    const again = await openStream(other.server.origin, '/live/events', {
      headers: { 'last-event-id': first.lastId() ?? '' },
    })
    await again.until('event', 1)
    expect(again.events.filter(({ event }) => event === 'reset')).toEqual([])
    again.close()
  } finally {
    await other.close()
  }
})

test('without notifications of commits, a stream reports once that it is stale, and that it is current when they resume', async () => {
  const client = await follow()
  gateway.listener.listening(false)
  await client.until('stale', 1)
  gateway.listener.listening(true)
  await client.until('fresh', 1)
  await commit(vaults[0], 1)
  await client.until('event', 1)
  expect(client.events.flatMap(({ event }) => event ?? [])).toEqual(['stale', 'fresh', 'event'])
})

test('rows of a running feed arrive once and in order, however often clients reconnect', async () => {
  const rows = 60
  const begin = await follow()
  await expect.poll(() => begin.lastId()).not.toBeNull()
  const reading = [20, 60, 150].map(async (stayMilliseconds) => {
    const own: ReceivedEvent[] = []
    for (let last = begin.lastId() ?? '', tries = 0; own.length < rows && tries < 100; tries++) {
      const client = await follow('', { 'last-event-id': last })
      await wait(stayMilliseconds)
      client.close()
      own.push(...client.events.filter(({ event }) => event === 'event'))
      last = client.lastId() ?? last
    }
    return own
  })
  for (let batch = 0; batch < rows / 3; batch++) await commit(vaults[batch % 2], 3)
  const expected = (await ledgers()).slice(2)
  for (const own of await Promise.all(reading)) expect(dataOf(own)).toEqual(expected)
})
