import { beforeAll, describe, expect, test } from 'vitest'
import { toAddress } from '../../src/domain/address.ts'
import { ledgerRowGlobalId, positionGlobalId } from '../../src/domain/identity/global-id.ts'
import { maxIds } from '../../src/limits.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { errorOf } from '../support/problem.ts'
import { apply, deposit, event, mark, midnight, opened, position, strategy, vaultA, vaultB } from '../support/world.ts'

interface Identified {
  readonly __typename: string
  readonly id: string
}

const [a, b] = [toAddress(vaultA), toAddress(vaultB)]
const hash = `0x${'0f'.repeat(32)}`

let database: TestDatabase
let gateway: TestGateway

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, [
    strategy('one'),
    strategy('a/b ö'),
    ...[vaultA, vaultB].flatMap((vault, index) => [
      opened(vault, 'one'),
      deposit(vault, midnight + 10, '100'),
      mark(vault, midnight + 20, `10${String(index)}`, {
        positions: [position('1', `10${String(index)}`), position('a/b ö')],
      }),
      // The same transaction pays a fee of each, in logs of their own.
      ...[1, 10].map((logIndex) => ({
        ...event(vault, midnight + 30, { type: 'fee', amountUsd: `${String(index)}.${String(logIndex)}` }),
        txHash: hash,
        logIndex,
      })),
    ]),
  ])
  gateway = gatewayOn(database)
})

const fields = `__typename id
  ... on Vault { address valueUsd }
  ... on Strategy { name }
  ... on Position { positionId range { current } }
  ... on LedgerRow { txHash logIndex amountUsd }`

const nodes = (ids: readonly string[], selection = fields): Promise<{ nodes: (Identified | null)[] }> =>
  gateway.query(`query ($ids: [ID!]!) { nodes(ids: $ids) { ${selection} } }`, { ids })

describe('an id', () => {
  /** All objects with an id, as lists return them. */
  const everything = `{
    strategies { __typename id name }
    vaults { nodes { __typename id address valueUsd
      positions { __typename id positionId range { current } }
      events { nodes { __typename id txHash logIndex amountUsd } } } } }`

  async function listed(): Promise<Identified[]> {
    type Listed = Identified & { positions: Identified[]; events: { nodes: Identified[] } }
    const all = await gateway.query<{ strategies: Identified[]; vaults: { nodes: Listed[] } }>(everything)
    return all.vaults.nodes.reduce<Identified[]>((found, { positions, events, ...vault }) => {
      return [...found, vault, ...positions, ...events.nodes]
    }, all.strategies)
  }

  test('is unique over all types', async () => {
    const ids = (await listed()).map(({ id }) => id)
    expect(ids).toHaveLength(2 + 2 + 2 * 2 + 2 * 3)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('fetches its object again, by node and by nodes', async () => {
    const objects = await listed()
    expect(await nodes(objects.map(({ id }) => id))).toEqual({ nodes: objects })
    for (const object of objects) {
      const source = `query ($id: ID!) { node(id: $id) { ${fields} } }`
      expect(await gateway.query(source, { id: object.id })).toEqual({ node: object })
    }
  })

  test('is readable', async () => {
    const ids = (await listed()).map(({ id }) => id)
    expect(ids).toEqual(
      expect.arrayContaining(['one', 'a/b ö', a, b, `${a}/position/1`, `${b}/position/1`, `${a}/event/${hash}/10`]),
    )
  })

  test('distinguishes positions of two vaults with the same identifier', async () => {
    const found = await nodes([positionGlobalId(a, '1'), positionGlobalId(b, '1')])
    expect(found.nodes).toMatchObject([
      { positionId: '1', range: { current: 100 } },
      { positionId: '1', range: { current: 101 } },
    ])
  })

  test('may have its address in any valid case', async () => {
    const found = await nodes([vaultA, positionGlobalId(`0x${vaultA.slice(2).toUpperCase()}`, '1')])
    expect(found.nodes.map((node) => node?.id)).toEqual([a, positionGlobalId(a, '1')])
  })
})

describe('nodes', () => {
  test('are in the order of the requested ids, repeated for repeated ids', async () => {
    const ids = ['one', a, 'unknown', 'one', positionGlobalId(a, '1'), a]
    const found = await nodes(ids, 'id')
    expect(found.nodes.map((node) => node?.id ?? null)).toEqual(ids.map((id) => (id === 'unknown' ? null : id)))
  })

  test('are empty without ids', async () => {
    expect(await nodes([])).toEqual({ nodes: [] })
  })

  test('are limited', async () => {
    expect((await nodes(Array.from({ length: maxIds }, () => 'one'))).nodes).toHaveLength(maxIds)
    const ids = Array.from({ length: maxIds + 1 }, () => 'one')
    const error = await errorOf(await gateway.post('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids }))
    expect(error.message).toBe('ids has 201 values, more than 200')
    expect(error.extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'ids' })
    expect(gateway.reported).toEqual([])
  })
})

describe('null is returned for', () => {
  test.each([
    ['a vault that is not known', `0x${'9'.repeat(40)}`],
    ['a strategy that is not known', 'none'],
    ['a position that is not open', positionGlobalId(a, '2')],
    ['a position of a vault that is not known', positionGlobalId(`0x${'9'.repeat(40)}`, '1')],
    ['a row of another index', ledgerRowGlobalId(a, hash, 2)],
    ['a row of another transaction', ledgerRowGlobalId(a, `0x${'1'.repeat(64)}`, 1)],
    ['a row of a vault that is not known', ledgerRowGlobalId(`0x${'9'.repeat(40)}`, hash, 1)],
    ['an address with a wrong checksum', `0x${'aB'.repeat(20)}`],
    ['half an id', `${a}/event/${hash}`],
    ['an index that no log has', ledgerRowGlobalId(a, hash, 2 ** 31)],
    ['nothing', ''],
    ['a NUL', 'on\0e'],
    ['half a surrogate pair', '\ud800'],
  ])('%s: %j', async (_, id) => {
    const response = await gateway.post('query ($id: ID!) { node(id: $id) { id } nodes(ids: [$id]) { id } }', { id })
    expect([response.status, await response.json()]).toMatchObject([200, { data: { node: null, nodes: [null] } }])
    expect(gateway.reported).toEqual([])
  })
})
