import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/database/database.ts'
import { migrate } from '../../../src/database/prisma/migrations.ts'
import { createWithoutTables, emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { fillTables, migrateUpTo, migrationNames, readTables } from '../../support/older-database.ts'
import { problemOf } from '../../support/problem.ts'
import { apply, deposit, event, mark, midnight, opened, position, strategy, vaultA } from '../../support/world.ts'

const begun = midnight + 100
const facts = [
  strategy('one'),
  opened(vaultA, 'one', begun),
  deposit(vaultA, begun + 10, '100'),
  mark(vaultA, begun + 20, '101', { positions: [position('a')] }),
  event(vaultA, begun + 30, { type: 'fee', amountUsd: '1' }),
  mark(vaultA, begun + 40, '103', { positions: [position('a', '120')] }),
]
const newest = begun + 40

describe('a moment of a vault', () => {
  let database: TestDatabase
  let gateway: TestGateway

  beforeAll(async () => {
    database = await emptyDatabase()
    await apply(database, facts)
    gateway = gatewayOn(database)
  })

  const ask = (at: number | string, of = gateway) => of.get(`/vault/${vaultA}/snapshot?at=${at}`)

  test('may be stored by shared caches only if it can never change', async () => {
    const past = await ask(newest - 1)
    expect(past.headers.get('cache-control')).toBe('public, max-age=86400')
    expect(past.headers.get('etag')).toMatch(/^"/)
    expect((await ask(newest)).headers.get('cache-control')).toBe('no-cache')
    expect((await ask(newest + 1)).headers.get('cache-control')).toBe('no-cache')
    expect((await gateway.get(`/vault/${vaultA}/snapshot`)).headers.get('cache-control')).toBe('no-cache')
    const again = await gateway.get(`/vault/${vaultA}/snapshot?at=${newest - 1}`, {
      headers: { 'if-none-match': past.headers.get('etag') ?? '' },
    })
    expect([again.status, again.headers.get('cache-control')]).toEqual([304, 'public, max-age=86400'])
  })

  test('is stored by the client only, if API keys are configured', async () => {
    const locked = gatewayOn(database, { apiKeys: ['key'] })
    const answer = await locked.get(`/vault/${vaultA}/snapshot?at=${newest - 1}`, {
      headers: { authorization: 'Bearer key' },
    })
    expect(answer.headers.get('cache-control')).toBe('private, max-age=86400')
  })

  test('before the first fact of the vault is null, after the newest fact is the newest state', async () => {
    expect((await ask(begun - 1)).status).toBe(404)
    expect(await (await ask(begun)).json()).toMatchObject({
      status: 'idle',
      valueUsd: 0,
      positions: [],
      updatedAt: begun,
    })
    expect(await (await ask(newest + 1_000)).text()).toBe(await (await ask(newest)).text())
  })

  test.each(['', 'now', '-1', '1.5', '253402300800', '1e9', '0x1'])('at %o is refused by its name', async (at) => {
    expect(await problemOf(await ask(at), 400)).toMatchObject({ parameter: 'at' })
  })

  test('as a repeated parameter is refused', async () => {
    const answer = await gateway.get(`/vault/${vaultA}/snapshot?at=1&at=2`)
    expect(await problemOf(answer, 400)).toMatchObject({ parameter: 'at' })
  })

  test('is an object with a separate id and positions, and can be fetched by its id', async () => {
    const fields = 'id valueUsd historySince positions { id range { current } inRange }'
    const document = `query ($v: Address!, $at: UnixTime) { now: vault(address: $v) { ${fields} } then: vault(address: $v, at: $at) { ${fields} } }`
    const { now, then } = await gateway.query<Record<'now' | 'then', { id: string; positions: { id: string }[] }>>(
      document,
      { v: vaultA, at: begun + 20 },
    )
    expect(then).toMatchObject({
      valueUsd: 101,
      historySince: begun,
      positions: [{ range: { current: 100 }, inRange: true }],
    })
    expect(now).toMatchObject({ valueUsd: 103, positions: [{ range: { current: 120 }, inRange: false }] })
    expect(then.id).toBe(`${now.id}@${begun + 20}`)
    const ids = [then.id, then.positions[0]?.id ?? '', `${now.id}@${begun - 1}`, `${now.id}@01`]
    const { nodes } = await gateway.query<{ nodes: unknown[] }>(
      `query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Vault { valueUsd } ... on Position { inRange } } }`,
      { ids },
    )
    expect(nodes).toEqual([{ id: ids[0], valueUsd: 101 }, { id: ids[1], inRange: true }, null, null])
  })

  test('limits its series and its ledger to its second', async () => {
    const document = `query ($v: Address!, $at: UnixTime, $since: UnixTime) { vault(address: $v, at: $at) {
      equity(since: $since) { ts valueUsd } events(since: $since) { totalCount nodes { ts } } } }`
    const of = async (at: number, since = 0) =>
      (await gateway.query<{ vault: unknown }>(document, { v: vaultA, at, since })).vault
    expect(await of(begun + 20)).toEqual({
      equity: [
        { ts: begun + 10, valueUsd: 100 },
        { ts: begun + 20, valueUsd: 101 },
      ],
      events: { totalCount: 1, nodes: [{ ts: begun + 10 }] },
    })
    expect(await of(begun + 30)).toMatchObject({ events: { totalCount: 2 } })
    expect(await of(begun + 20, begun + 30)).toEqual({ equity: [], events: { totalCount: 0, nodes: [] } })
  })
})

test('a moment is read by one statement, and by one more if a flow has followed its mark', async () => {
  const flow = begun + 50
  const own = await emptyDatabase()
  await apply(own, [...facts, deposit(vaultA, flow, '5', '103'), mark(vaultA, flow + 10, '109')])
  const sent: string[] = []
  const gateway = gatewayOn(own, { observer: { onStatement: (name) => sent.push(name) } })
  const ask = (at: number) => gateway.get(`/vault/${vaultA}/snapshot?at=${at}`)
  for (const [at, statements] of [
    [begun + 5, ['vaults_at']],
    [begun + 35, ['vaults_at']],
    [newest, ['vaults_at']],
    [flow, ['vaults_at', 'mark_states']],
  ] as const) {
    sent.length = 0
    expect((await ask(at)).status).toBe(200)
    expect(sent, String(at)).toEqual(statements)
  }
  const shown = (await (await ask(flow)).json()) as { positions: { range: { current: number } }[] }
  expect(shown.positions.map(({ range }) => range.current)).toEqual([120])
})

describe('a vault that is older than the stored history', () => {
  let database: Database
  let gateway: TestGateway

  beforeAll(async () => {
    const whole = await emptyDatabase()
    await apply(whole, facts)
    const rows = await readTables(whole)
    database = await createWithoutTables()
    const names = await migrationNames()
    const before = names[names.findIndex((name) => name.endsWith('_history')) - 1] ?? ''
    await migrateUpTo(database, before)
    await fillTables(database, rows)
    await migrate(database)
    gateway = gatewayOn(database)
  })
  afterAll(() => database.close())

  const ask = (at: number) => gateway.get(`/vault/${vaultA}/snapshot?at=${at}`)

  test('has a state at each second from its newest fact on, and after its next mark from that on', async () => {
    expect(await problemOf(await ask(newest - 1), 410)).toMatchObject({ historySince: newest })
    expect((await ask(begun - 1)).status).toBe(404)
    expect((await ask(newest + 5)).status).toBe(200)
    const first = newest + 100
    // Not every part of its state was known at the time of an event.
    await apply(database, [event(vaultA, newest + 50, { type: 'plant', positionId: 'b' })])
    expect(await problemOf(await ask(newest + 49), 410)).toMatchObject({ historySince: newest + 50 })
    await apply(database, [mark(vaultA, first, '104', { positions: [position('a', '100'), position('b', '91')] })])
    const body = await (await gateway.get(`/vault/${vaultA}/snapshot`)).text()
    await apply(database, [
      event(vaultA, first + 1, { type: 'suspend', reason: 'why' }),
      deposit(vaultA, first + 2, '10', '105'),
      mark(vaultA, first + 3, '120'),
    ])
    expect(await (await ask(first)).text()).toBe(body)
    expect(await (await ask(first + 2)).json()).toMatchObject({
      status: 'suspended',
      valueUsd: 115,
      positions: [{ id: 'a' }, { id: 'b' }],
    })
    expect(await problemOf(await ask(first - 1), 410)).toMatchObject({ historySince: first })
  })

  test('has points without a market delta before that, and with one since', async () => {
    const { vault } = await gateway.query<{ vault: { equity: unknown[] } }>(
      `query ($v: Address!) { vault(address: $v) { equity { valueUsd netUsd marketDeltaUsd strategyDeltaUsd } } }`,
      { v: vaultA },
    )
    expect(vault.equity.slice(0, 3)).toEqual([
      { valueUsd: 100, netUsd: 0, marketDeltaUsd: null, strategyDeltaUsd: null },
      { valueUsd: 101, netUsd: 1, marketDeltaUsd: null, strategyDeltaUsd: null },
      { valueUsd: 103, netUsd: 3, marketDeltaUsd: null, strategyDeltaUsd: null },
    ])
    expect(vault.equity[3]).toEqual({ valueUsd: 104, netUsd: 4, marketDeltaUsd: 0, strategyDeltaUsd: 4 })
  })

  test('has an error that says so over GraphQL', async () => {
    const document = `query ($v: Address!, $at: UnixTime) { vault(address: $v, at: $at) { valueUsd } }`
    const answer = (await (await gateway.post(document, { v: vaultA, at: newest - 1 })).json()) as {
      errors: { extensions: object }[]
    }
    expect(answer).toMatchObject({ data: { vault: null } })
    expect(answer.errors[0]?.extensions).toMatchObject({ code: 'HISTORY_NOT_KEPT' })
  })
})
