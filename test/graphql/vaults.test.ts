import { beforeAll, describe, expect, test } from 'vitest'
import { maxCursorCharacters } from '../../src/limits.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { ann, bob, fleet, fleetFacts, type FleetVault } from '../support/fleet.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { type Connection, connectionPages, pageInfo } from '../support/pages.ts'
import { errorOf } from '../support/problem.ts'
import { addressOf, apply, mark, midnight, position } from '../support/world.ts'

type Vaults = Connection<{ readonly address: string }> & { readonly totalCount: number }

const list = `query ($where: VaultWhere, $orderBy: VaultOrder = { field: ADDRESS, direction: ASC }, $first: Int! = 50, $after: String, $last: Int, $before: String) {
  vaults(where: $where, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) { totalCount nodes { address } ${pageInfo} }
}`

let database: TestDatabase
let gateway: TestGateway

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, fleetFacts)
  gateway = gatewayOn(database)
})

async function ask(variables: Record<string, unknown> = {}): Promise<Vaults> {
  return (await gateway.query<{ vaults: Vaults }>(list, variables)).vaults
}

const addresses = (nodes: readonly { readonly address: string }[]): string[] => nodes.map(({ address }) => address)

describe('where', () => {
  test.each<[string, object | null, (vault: FleetVault) => boolean]>([
    ['nothing', null, () => true],
    ['an empty object', {}, () => true],
    ['null for each key', { status: null, strategy: null, owner: null }, () => true],
    ['one status', { status: ['EARNING'] }, ({ status }) => status === 'EARNING'],
    ['several statuses', { status: ['IDLE', 'EXITING'] }, ({ status }) => ['IDLE', 'EXITING'].includes(status)],
    ['no status', { status: [] }, () => false],
    ['a strategy', { strategy: ['two'] }, ({ strategy }) => strategy === 'two'],
    ['several strategies', { strategy: ['one', 'two'] }, () => true],
    ['an unknown strategy', { strategy: ['three'] }, () => false],
    ['an owner', { owner: [bob] }, ({ owner }) => owner === bob],
    ['several owners', { owner: [ann, bob] }, () => true],
    ['an unknown owner', { owner: [addressOf(999)] }, () => false],
    [
      'all of them',
      { status: ['EARNING', 'IDLE'], strategy: ['one'], owner: [ann] },
      ({ status, strategy, owner }) => ['EARNING', 'IDLE'].includes(status) && strategy === 'one' && owner === ann,
    ],
    ['what no vault is at once', { status: ['EXITING'], strategy: ['one'] }, () => false],
    ['a least value', { valueUsd: { gte: 150 } }, ({ valueUsd }) => valueUsd >= 150],
    [
      'bounds of a value as text',
      { valueUsd: { gte: '50', lte: '150.000000' } },
      ({ valueUsd }) => valueUsd >= 50 && valueUsd <= 150,
    ],
    ['a range without bounds', { valueUsd: {} }, () => true],
    ['a pair', { pair: { a: 'WETH', b: 'USDC' } }, ({ status }) => !['IDLE', 'PLANTING'].includes(status)],
    ['a pair the other way round', { pair: [{ a: 'USDC', b: 'WETH' }] }, () => false],
    ['a venue', { venue: 'uniswap-v3' }, ({ status }) => !['IDLE', 'PLANTING'].includes(status)],
    ['no venue', { venue: [] }, () => false],
    [
      'value, venue, pair and strategy',
      { valueUsd: { lte: 200 }, venue: ['aerodrome', 'uniswap-v3'], pair: { a: 'WETH', b: 'USDC' }, strategy: 'one' },
      ({ valueUsd, status, strategy }) => valueUsd <= 200 && status === 'EARNING' && strategy === 'one',
    ],
  ])('with %s leaves the vaults that match, and counts them', async (_, where, matches) => {
    const { totalCount, nodes } = await ask({ where })
    const expected = addresses(fleet.filter(matches))
    expect(addresses(nodes)).toEqual(expected)
    expect(totalCount).toBe(expected.length)
  })

  test('accepts an owner in any case', async () => {
    const { totalCount } = await ask({ where: { owner: [ann.toLowerCase()] } })
    expect(totalCount).toBe(5)
  })
})

const orders: readonly [string, (vault: FleetVault) => number | string][] = [
  ['VALUE_USD', ({ valueUsd }) => valueUsd],
  ['NET_USD', ({ netUsd }) => netUsd],
  ['UPDATED_AT', ({ updatedAt }) => updatedAt],
  ['ADDRESS', ({ address }) => address],
]
const directions = ['ASC', 'DESC']

function sorted(field: (typeof orders)[number][1], direction: string): string[] {
  const sign = direction === 'ASC' ? 1 : -1
  const compare = (a: number | string, b: number | string): number => (a < b ? -sign : a > b ? sign : 0)
  return addresses([...fleet].sort((a, b) => compare(field(a), field(b)) || compare(a.address, b.address)))
}

describe('orderBy', () => {
  test.each(orders.flatMap(([name, field]) => directions.map((direction) => [name, direction, field] as const)))(
    '%s %s orders them, between equals by address',
    async (name, direction, field) => {
      const { nodes } = await ask({ orderBy: { field: name, direction } })
      expect(addresses(nodes)).toEqual(sorted(field, direction))
    },
  )

  test('is by descending value by default', async () => {
    const { vaults } = await gateway.query<{ vaults: Vaults }>('{ vaults { nodes { address } } }')
    expect(addresses(vaults.nodes)).toEqual(sorted(({ valueUsd }) => valueUsd, 'DESC'))
  })

  test('is descending by default', async () => {
    const { nodes } = await ask({ orderBy: { field: 'NET_USD' } })
    expect(addresses(nodes)).toEqual(sorted(({ netUsd }) => netUsd, 'DESC'))
  })
})

describe('pages', () => {
  test.each(orders.flatMap(([name, field]) => directions.map((direction) => [name, direction, field] as const)))(
    'ordered by %s %s give each vault once',
    async (name, direction, field) => {
      const orderBy = { field: name, direction }
      for (const first of [1, 3, 8]) {
        const pages = await connectionPages((after) => ask({ orderBy, first, after }))
        expect(pages).toHaveLength(Math.ceil(fleet.length / first))
        expect(addresses(pages.flatMap(({ nodes }) => nodes))).toEqual(sorted(field, direction))
      }
    },
  )

  test.each(orders.flatMap(([name, field]) => directions.map((direction) => [name, direction, field] as const)))(
    'ordered by %s %s give each vault once backward too',
    async (name, direction, field) => {
      const orderBy = { field: name, direction }
      for (const last of [1, 3, 8]) {
        const found: string[] = []
        for (let before: string | null = null; ;) {
          const { nodes, pageInfo: info }: Vaults = await ask({ orderBy, last, before })
          found.unshift(...addresses(nodes))
          expect(info.hasNextPage).toBe(before !== null)
          if (!info.hasPreviousPage) break
          before = info.startCursor
        }
        expect(found).toEqual(sorted(field, direction))
      }
    },
  )

  test('of a filter have the matching vaults, and the total count on each page', async () => {
    const where = { owner: [ann] }
    const counts: number[] = []
    const pages = await connectionPages(async (after) => {
      const { totalCount, ...page } = await ask({ where, first: 2, after })
      counts.push(totalCount)
      return page
    })
    expect(addresses(pages.flatMap(({ nodes }) => nodes))).toEqual(
      addresses(fleet.filter(({ owner }) => owner === ann)),
    )
    expect(counts).toEqual([5, 5, 5])
  })

  test('report whether other pages precede and follow', async () => {
    const [first, second, third, ...more] = await connectionPages((after) => ask({ first: 3, after }))
    expect(more).toEqual([])
    expect(first.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false })
    expect(second?.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true })
    expect(third?.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true })
    expect(first.pageInfo.startCursor).not.toBe(first.pageInfo.endCursor)
  })

  test('begin and end with the cursors of their edges', async () => {
    interface Edges {
      vaults: { edges: { cursor: string; node: { address: string } }[] } & Pick<Vaults, 'pageInfo' | 'nodes'>
    }
    const { vaults } = await gateway.query<Edges>(
      `{ vaults(first: 3) { edges { cursor node { address } } nodes { address } ${pageInfo} } }`,
    )
    expect(vaults.edges.map(({ node }) => node)).toEqual(vaults.nodes)
    const { startCursor, endCursor } = vaults.pageInfo
    expect([startCursor, endCursor]).toEqual([vaults.edges[0]?.cursor, vaults.edges[2]?.cursor])
  })

  test('start after a cursor of the maximum length, and refuse longer ones', async () => {
    const { pageInfo: info } = await ask({ first: 3 })
    const parts = Buffer.from(info.endCursor ?? '', 'base64url').toString()
    const padded = (length: number): string => Buffer.from(parts.padEnd((length * 3) / 4)).toString('base64url')
    const [longest, longer] = [padded(maxCursorCharacters), padded(maxCursorCharacters + 4)]
    expect([longest.length, longer.length]).toEqual([maxCursorCharacters, maxCursorCharacters + 4])
    expect((await ask({ first: 3, after: longest })).nodes).toEqual(
      (await ask({ first: 3, after: info.endCursor })).nodes,
    )
    await expect(ask({ first: 3, after: longer })).rejects.toThrow('is not a cursor of this list')
  })

  test('that are empty have no cursors', async () => {
    const { pageInfo: info, totalCount } = await ask({ where: { status: [] } })
    expect(info).toEqual({ hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null })
    expect(totalCount).toBe(0)
  })

  test('continue after their cursor while an earlier vault changes', async () => {
    const orderBy = { field: 'UPDATED_AT', direction: 'ASC' }
    const first = await ask({ orderBy, first: 4 })
    const rest = sorted(({ updatedAt }) => updatedAt, 'ASC').slice(4)
    const [changed] = first.nodes
    await apply(database, [mark(changed?.address ?? '', midnight + 60, '1')])
    const second = await ask({ orderBy, first: 50, after: first.pageInfo.endCursor })
    expect(addresses(second.nodes)).toEqual([...rest, changed?.address])
  })
})

describe('positions', () => {
  const vault = addressOf(1)
  const at = (pool: object) => ({
    ...position('p'),
    pool: { a: 'WBTC', b: 'USDC', venue: 'aerodrome', feeTier: 500, ...pool },
  })
  const found = async (where: object): Promise<boolean> => addresses((await ask({ where })).nodes).includes(vault)
  const wbtc = { a: 'WBTC', b: 'USDC' }

  test('of the newest mark are those by which the vault is found', async () => {
    const both = [at({}), { ...at({ a: 'WETH', venue: 'uniswap-v3' }), id: 'q' }]
    await apply(database, [mark(vault, midnight + 100, '150', { positions: both })])
    expect(await found({ pair: wbtc })).toBe(true)
    expect(await found({ pair: { a: 'WETH', b: 'USDC' } })).toBe(true)
    expect(await found({ pair: wbtc, venue: 'aerodrome' })).toBe(true)
    // No single position has both the pair and the venue.
    expect(await found({ pair: wbtc, venue: 'uniswap-v3' })).toBe(false)
    const [, second] = both
    await apply(database, [mark(vault, midnight + 200, '150', { positions: second === undefined ? [] : [second] })])
    expect(await found({ pair: wbtc })).toBe(false)
    expect(await found({ venue: ['aerodrome'] })).toBe(false)
    expect(await found({ venue: ['uniswap-v3'] })).toBe(true)
    await apply(database, [mark(vault, midnight + 300, '150', { positions: [] })])
    expect(await found({ venue: ['aerodrome', 'uniswap-v3'] })).toBe(false)
  })

  test('restrict the vaults of each strategy too', async () => {
    const query = `{ strategies { id vaults(where: { venue: "uniswap-v3" }, orderBy: { field: NET_USD }) { totalCount nodes { address } } } }`
    const { strategies } = await gateway.query<{ strategies: { id: string; vaults: Vaults }[] }>(query)
    for (const { id, vaults } of strategies) {
      const { nodes, totalCount } = await ask({ where: { venue: 'uniswap-v3', strategy: id } })
      expect(addresses(vaults.nodes).sort()).toEqual(addresses(nodes).sort())
      expect(vaults.totalCount).toBe(totalCount)
    }
  })
})

describe('bad arguments', () => {
  const forged = (parts: unknown): string => Buffer.from(JSON.stringify(parts)).toString('base64url')

  test.each([
    ['first', { first: 0 }],
    ['first', { first: 201 }],
    ['first', { first: -1 }],
    ['first', { first: 1.5 }],
    ['first', { first: null }],
    ['last', { last: 0 }],
    ['last', { last: 201 }],
    ['last', { last: 3, after: forged(['ADDRESS', addressOf(1), addressOf(1)]) }],
    ['before', { before: forged(['ADDRESS', addressOf(1), addressOf(1)]) }],
    ['before', { last: 3, before: 'abc' }],
    ['after', { after: '' }],
    ['after', { after: 'abc' }],
    ['after', { after: forged(['VALUE_USD', '1', addressOf(1)]) }],
    ['after', { after: forged(['ADDRESS', '\0', addressOf(1)]) }],
    ['after', { after: forged(['ADDRESS', addressOf(1), '\0']) }],
    ['after', { after: forged(['UPDATED_AT', '1.5', addressOf(1)]), orderBy: { field: 'UPDATED_AT' } }],
    ['after', { after: forged(['UPDATED_AT', '9'.repeat(32), addressOf(1)]), orderBy: { field: 'UPDATED_AT' } }],
    ['after', { after: forged(['NET_USD', 'NaN', addressOf(1)]), orderBy: { field: 'NET_USD' } }],
    ['after', { after: forged(['NET_USD', 1, addressOf(1)]), orderBy: { field: 'NET_USD' } }],
    ['strategy', { where: { strategy: ['\0'] } }],
    ['venue', { where: { venue: '\0' } }],
    ['venue', { where: { venue: Array.from({ length: 21 }, () => 'x') } }],
    ['pair', { where: { pair: [{ a: '\0', b: 'x' }] } }],
    ['pair', { where: { pair: Array.from({ length: 21 }, () => ({ a: 'x', b: 'y' })) } }],
    ['valueUsd', { where: { valueUsd: { gte: 2, lte: 1 } } }],
    ['where', { where: { valueUsd: { gte: '0.0000001' } } }],
    ['where', { where: { valueUsd: { gte: 'NaN' } } }],
    ['where', { where: { valueUsd: { gte: '1e40' } } }],
    ['where', { where: { pair: [{ a: 'x' }] } }],
    ['where', { where: { owner: ['0x12'] } }],
    ['where', { where: { status: ['RICH'] } }],
    ['orderBy', { orderBy: { field: 'APR' } }],
    ['orderBy', { orderBy: { field: 'ADDRESS', direction: 'UP' } }],
  ])('%s is named: %j', async (argument, variables) => {
    const error = await errorOf(await gateway.post(list, variables))
    expect(error.extensions).toEqual({ code: 'BAD_USER_INPUT', argument })
    expect(gateway.reported).toEqual([])
  })
})

test.each([
  ['a list', 'query ($none: ID = "x") { nodes(ids: [$none]) { id } }'],
  ['an object', 'query ($none: String = "x") { vaults(where: { pair: [{ a: $none, b: "USDC" }] }) { totalCount } }'],
])('a variable that is null in %s that must not have it is named', async (_, query) => {
  const error = await errorOf(await gateway.post(query, { none: null }))
  expect(error.extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'none' })
  expect(gateway.reported).toEqual([])
})
