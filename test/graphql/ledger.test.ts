import { beforeAll, describe, expect, test } from 'vitest'
import { toAddress } from '../../src/domain/address.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { emptyDatabase } from '../support/database.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { type Connection, connectionPages, pageInfo } from '../support/pages.ts'
import { errorOf } from '../support/problem.ts'
import { apply, event, midnight, opened, strategy, vaultA, vaultB } from '../support/world.ts'

interface Row {
  readonly block: number
  readonly logIndex: number
  readonly type: string
}

type Events = Connection<Row> & { readonly totalCount: number }

const rowCount = 25

function numbered(number: number): FactInput {
  const ts = midnight + number
  return number % 5 === 0
    ? event(vaultA, ts, { type: 'fee', amountUsd: '0.5' })
    : event(vaultA, ts, { type: 'harvest', positionId: `p${String(number)}`, amountUsd: '1' })
}

let gateway: TestGateway

beforeAll(async () => {
  const database = await emptyDatabase()
  await apply(database, [
    strategy('one'),
    opened(vaultA, 'one'),
    opened(vaultB, 'one'),
    ...Array.from({ length: rowCount }, (_, number) => numbered(number)),
    event(vaultB, midnight, { type: 'suspend', reason: 'halt' }),
  ])
  gateway = gatewayOn(database)
})

const source = `query ($type: [EventType!], $since: UnixTime, $until: UnixTime, $first: Int! = 100, $after: String) {
  vault(address: "${vaultA}") {
    events(type: $type, since: $since, until: $until, first: $first, after: $after) {
      totalCount nodes { block logIndex type } ${pageInfo} } } }`

async function ask(variables: Record<string, unknown> = {}): Promise<Events> {
  return (await gateway.query<{ vault: { events: Events } }>(source, variables)).vault.events
}

const blocks = ({ nodes }: Events): number[] => nodes.map(({ block }) => block - midnight)
const down = (from: number, to: number): number[] => Array.from({ length: from - to + 1 }, (_, index) => from - index)

describe('the ledger', () => {
  test('is newest first, and counts its rows', async () => {
    const events = await ask()
    expect(blocks(events)).toEqual(down(rowCount - 1, 0))
    expect(events.totalCount).toBe(rowCount)
  })

  test('has the fields of an event, null where they do not apply', async () => {
    const { vault } = await gateway.query<{ vault: { events: { nodes: unknown[] } } }>(
      `{ vault(address: "${vaultB}") { events { nodes { id txHash logIndex block ts type amountUsd positionId reason } } } }`,
    )
    const txHash = `0x${midnight.toString(16).padStart(64, '0')}`
    expect(vault.events.nodes).toEqual([
      {
        id: `${toAddress(vaultB)}/event/${txHash}/${String(midnight % 1_000)}`,
        txHash,
        logIndex: midnight % 1_000,
        block: midnight,
        ts: midnight,
        type: 'SUSPEND',
        amountUsd: null,
        positionId: null,
        reason: 'halt',
      },
    ])
  })

  test.each([
    ['of a type', { type: ['FEE'] }, [20, 15, 10, 5, 0]],
    ['of several types', { type: ['FEE', 'HARVEST', 'DEPOSIT'] }, down(24, 0)],
    ['of a type it has none of', { type: ['DEPOSIT'] }, []],
    ['of no type', { type: [] }, []],
    ['of any type', { type: null }, down(24, 0)],
    ['since a time, included', { since: midnight + 20 }, down(24, 20)],
    ['until a time, not included', { until: midnight + 5 }, down(4, 0)],
    ['of a type in a span', { type: ['FEE'], since: midnight + 5, until: midnight + 15 }, [10, 5]],
  ])('gives the rows %s, and counts them', async (_, variables, expected) => {
    const events = await ask(variables)
    expect(blocks(events)).toEqual(expected)
    expect(events.totalCount).toBe(expected.length)
  })

  test.each([1, 4, 24, 25, 26])('has each row once on pages of %i', async (first) => {
    const counts: number[] = []
    const pages = await connectionPages(async (after) => {
      const page = await ask({ first, after })
      counts.push(page.totalCount)
      return page
    })
    expect(pages.flatMap(({ nodes }) => nodes.map(({ block }) => block - midnight))).toEqual(down(rowCount - 1, 0))
    expect(counts).toEqual(Array.from({ length: Math.ceil(rowCount / first) }, () => rowCount))
    expect(pages.map((page) => page.pageInfo.hasPreviousPage)).toEqual(pages.map((_, index) => index > 0))
  })

  test('has each row of a type once on pages', async () => {
    const pages = await connectionPages((after) => ask({ type: ['FEE'], first: 2, after }))
    expect(pages.map(({ nodes }) => nodes.map(({ block }) => block - midnight))).toEqual([[20, 15], [10, 5], [0]])
  })
})

describe('bad arguments', () => {
  const forged = (parts: unknown): string => Buffer.from(JSON.stringify(parts)).toString('base64url')
  const hash = `0x${'0'.repeat(64)}`

  test('a cursor of this form is taken, also of a row that is not there', async () => {
    expect(blocks(await ask({ first: 1, after: forged([midnight + 9, 0, hash, toAddress(vaultA)]) }))).toEqual([8])
  })

  test('the cursor of another vault is refused', async () => {
    const { vault } = await gateway.query<{ vault: { events: Events } }>(
      `{ vault(address: "${vaultB}") { events { ${pageInfo} } } }`,
    )
    const error = await errorOf(await gateway.post(source, { after: vault.events.pageInfo.endCursor }))
    expect(error).toMatchObject({ message: 'after is not a cursor of this list', extensions: { argument: 'after' } })
  })

  test.each([
    ['first', { first: 0 }],
    ['first', { first: 1_001 }],
    ['first', { first: 'ten' }],
    ['type', { type: ['SALE'] }],
    ['type', { type: ['fee'] }],
    ['since', { since: -1 }],
    ['until', { until: 1e15 }],
    ['since', { since: 10, until: 9 }],
    ['after', { after: '' }],
    ['after', { after: 'abc' }],
    ['after', { after: forged([1, 2, '\0', toAddress(vaultA)]) }],
    ['after', { after: forged(['1', '2', hash, toAddress(vaultA)]) }],
    ['after', { after: forged([Number.MIN_SAFE_INTEGER, 0, hash, toAddress(vaultA)]) }],
    ['after', { after: forged([1, -1, hash, toAddress(vaultA)]) }],
    ['after', { after: forged([1, 2, hash, toAddress(vaultB)]) }],
    ['after', { after: forged([1, 2, hash]) }],
    ['after', { after: forged([1, 2, hash, toAddress(vaultA), 3]) }],
  ])('%s is named: %j', async (argument, variables) => {
    const error = await errorOf(await gateway.post(source, variables))
    expect(error.extensions).toEqual({ code: 'BAD_USER_INPUT', argument })
    expect(gateway.reported).toEqual([])
  })
})
