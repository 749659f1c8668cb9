import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/database/database.ts'
import { countVaults } from '../../../src/database/read/vault-lists/count.ts'
import { allStrategies, anyVault, type Pair, type VaultFilter } from '../../../src/database/read/vault-lists/filter.ts'
import { type Direction, vaultOrders, type VaultOrderName } from '../../../src/database/read/vault-lists/order.ts'
import {
  type PagedVaultRow,
  readVaultPages,
  type VaultPageRequest,
} from '../../../src/database/read/vault-lists/page.ts'
import { type VaultStatus, vaultStatuses } from '../../../src/domain/vault.ts'
import { fillVaultTallies } from '../../bench/speed/world.ts'
import { createDatabase, runScript, type TestDatabase } from '../../support/database.ts'
import { explainReads } from '../../support/explain.ts'
import { addressOf, apply, opened, strategy } from '../../support/world.ts'

const count = 6_000
const first = 20
const strategies = ['one', 'two', 'three']
/** An owner of half of the vaults, those of the least value; the others have a few each. */
const large = addressOf(900_000)
const smallOwners = [1, 2, 3].map((number) => addressOf(900_000 + number))

/** Adds vaults of many values, some of them equal. Only the least valuable are idle, and none is exiting. */
async function addVaults(database: Database): Promise<void> {
  await database.prisma.$executeRawUnsafe(
    `insert into vault select (jsonb_populate_record(vault, jsonb_build_object(
        'id', vault.id + number, 'address', '0x' || left(md5(number::text) || md5('more'), 40), 'status', state.status,
        'owner', '0x' || lpad((900000 + case when number <= ${count / 2} then 0 else number % 1000 end)::text, 40, '0'),
        'strategy_id', ('{one,two,three}'::text[])[1 + number % 3], 'updated_at', vault.updated_at + number * 7 % 5003,
        'value_usd', worth, 'capital_in_usd', paid, 'net_usd', worth - paid, 'strategy_delta_usd', worth - paid,
        'position_count', case when state.status in ('planting', 'idle') then 0 else 2 end,
        'out_of_range_count', case when state.status = 'attention' then 1 else 0 end,
        'suspended_at', case when state.status = 'suspended' then vault.updated_at end,
        'suspension_reason', case when state.status = 'suspended' then 'halt' end))).*
      from vault, generate_series(1, ${count - 1}) as number
        cross join lateral (select case when number <= 5 then 'idle' when number % 40 = 0 then 'suspended'
          when number % 10 = 0 then 'planting' when number % 3 = 0 then 'attention' else 'earning' end as status) state
        cross join lateral (select case when number <= 5 then 0 else number / 3 end as worth, number * 31 % 997 as paid) worth`,
  )
  // Positions of common pairs and of rare ones; every third vault has none, and some have several.
  await runScript(
    database,
    `insert into vault_pool (vault_id, a, b, venue)
      select id, a, b, venue from vault cross join (values ('WETH', 'USDC', 'here', 3, 1), ('WBTC', 'USDC', 'here', 7, 2),
        ('WBTC', 'USDC', 'there', 5, 0), ('PEPE', 'WETH', 'there', 1999, 6)) as pool(a, b, venue, each, rest)
      where case each when 3 then id % 3 > 0 else id % each = rest end`,
  )
  await runScript(database, 'delete from strategy_tally; delete from owner_tally')
  await fillVaultTallies((sql) => runScript(database, sql))
}

const orders = Object.keys(vaultOrders) as VaultOrderName[]
const directions: readonly Direction[] = ['ASC', 'DESC']
const everything = anyVault

let database: TestDatabase
let vaults: PagedVaultRow[]
/** By address. */
const pools = new Map<string, (Pair & { readonly venue: string })[]>()

beforeAll(async () => {
  database = await createDatabase()
  await apply(database, [...strategies.map((id) => strategy(id)), opened(addressOf(1), 'one')])
  // A vacuum in the middle of the one long insert would leave statistics of a table with pages and no rows.
  await database.prisma.$executeRawUnsafe('alter table vault set (autovacuum_enabled = false)')
  await database.prisma.$executeRawUnsafe('analyze')
  await addVaults(database)
  vaults = await allVaults()
  const text = 'select address, a, b, venue from vault_pool join vault on vault.id = vault_id'
  for (const { address, ...pool } of await database.query<Pair & { address: string; venue: string }>(
    { name: 'pools', text },
    [],
  ))
    pools.set(address, [...(pools.get(address) ?? []), pool])
})

afterAll(() => database.close())

async function allVaults(): Promise<PagedVaultRow[]> {
  const all: PagedVaultRow[] = []
  for (let after: VaultPageRequest['after'] = null; ;) {
    const page = { filter: everything, orderBy: 'ADDRESS', direction: 'ASC', first: 200, after } as const
    const rows = await readVaultPages(database, [allStrategies], page)
    all.push(...rows.slice(0, 200))
    const last = rows.length > 200 ? rows.at(199) : undefined
    if (last === undefined) return all
    after = { value: last.orderValue, address: last.address }
  }
}

const sortKeys: Record<VaultOrderName, (vault: PagedVaultRow) => number> = {
  VALUE_USD: ({ valueUsd }) => Number(valueUsd),
  NET_USD: ({ netUsd }) => Number(netUsd),
  STRATEGY_DELTA_USD: ({ strategyDeltaUsd }) => Number(strategyDeltaUsd),
  CAPITAL_IN_USD: ({ capitalInUsd }) => Number(capitalInUsd),
  UPDATED_AT: ({ updatedAt }) => updatedAt,
  ADDRESS: () => 0,
}

/** Returns the vaults of a list that match a filter, in order. */
function expected(list: string, { filter, orderBy, direction }: VaultPageRequest): PagedVaultRow[] {
  const { status, strategy: ids, owner, valueUsd } = filter
  const sign = direction === 'ASC' ? 1 : -1
  const key = sortKeys[orderBy]
  return vaults
    .filter((vault) => list === allStrategies || vault.strategyId === list)
    .filter((vault) => status === null || status.includes(vault.status))
    .filter((vault) => ids === null || ids.includes(vault.strategyId))
    .filter((vault) => owner === null || owner.includes(vault.owner))
    .filter(({ valueUsd: value }) => Number(value) >= Number(valueUsd?.gte ?? 0))
    .filter(({ valueUsd: value }) => Number(value) <= Number(valueUsd?.lte ?? Infinity))
    .filter((vault) => isAtPool(vault, filter))
    .sort((a, b) => sign * (key(a) - key(b) || (a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1)))
}

function isAtPool({ address }: PagedVaultRow, { pair, venue }: VaultFilter): boolean {
  if (pair === null && venue === null) return true
  return (pools.get(address) ?? []).some(
    (pool) =>
      (pair === null || pair.some(({ a, b }) => a === pool.a && b === pool.b)) &&
      (venue === null || venue.includes(pool.venue)),
  )
}

const identity = ({ list, address }: Pick<PagedVaultRow, 'list' | 'address'>): string => `${list} ${address}`

const optional = <Value>(values: readonly Value[]) => fc.option(fc.subarray([...values]))
const indexed = {
  status: optional<VaultStatus>(vaultStatuses),
  strategy: optional([...strategies, 'unknown']),
  owner: optional([large, ...smallOwners, addressOf(7)]),
}
const filters = fc.record({
  ...indexed,
  valueUsd: fc.constant(null),
  pair: fc.constant(null),
  venue: fc.constant(null),
})
const limit = fc.option(fc.constantFrom('0', '0.5', '3', '700', '1400', '1990', '9000'))
const anyFilters = fc.record({
  ...indexed,
  valueUsd: fc.option(fc.record({ gte: limit, lte: limit })),
  pair: optional<Pair>([
    { a: 'WETH', b: 'USDC' },
    { a: 'WBTC', b: 'USDC' },
    { a: 'PEPE', b: 'WETH' },
    { a: 'USDC', b: 'WETH' },
  ]),
  venue: optional(['here', 'there', 'nowhere']),
})

describe('a page', () => {
  test('has the vaults that match, in order, after its cursor, and the count is their number', async () => {
    const pages = fc.record({
      lists: fc.constantFrom([allStrategies], strategies, ['two', 'unknown']),
      filter: filters,
      orderBy: fc.constantFrom(...orders),
      direction: fc.constantFrom(...directions),
      first: fc.integer({ min: 1, max: 60 }),
      from: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    await fc.assert(
      fc.asyncProperty(pages, async ({ lists, from, ...request }) => {
        const [list = ''] = lists
        const before = expected(list, { ...request, after: null }).at(Math.floor(from * 500) - 1)
        const after = before && { value: columnOf(before, request.orderBy), address: before.address }
        const page = { ...request, after: after ?? null }
        const wanted = lists.flatMap((each) => {
          const all = expected(each, page)
          const beyond = after === undefined ? all : all.filter((vault) => isAfter(vault, before, page))
          return beyond.slice(0, page.first + 1).map(({ address }) => identity({ list: each, address }))
        })
        expect((await readVaultPages(database, lists, page)).map(identity)).toEqual(wanted)
        const counts = await countVaults(database, lists, request.filter)
        expect(Object.fromEntries(counts.map(({ list: name, count: found }) => [name, found]))).toEqual(
          Object.fromEntries(lists.map((each) => [each, expected(each, page).length])),
        )
      }),
      { numRuns: 80 },
    )
  })
})

/** Reads a list to its end by cursors, page by page. */
async function readToEnd(
  list: string,
  page: VaultPageRequest,
): Promise<{ readonly found: string[]; readonly pages: number }> {
  const found: string[] = []
  let pages = 0
  for (let { after } = page; ;) {
    const rows = await readVaultPages(database, [list], { ...page, after })
    pages++
    const end = rows.findIndex(({ isLastExamined }) => isLastExamined)
    const matching = (end < 0 ? rows : rows.slice(0, end + 1)).filter(({ isMatch }) => isMatch)
    const nodes = matching.slice(0, page.first)
    found.push(...nodes.map(({ address }) => address))
    const last = matching.length > page.first ? nodes.at(-1) : rows[end]
    if (last === undefined) return { found, pages }
    after = { value: last.orderValue, address: last.address }
  }
}

describe('a list by value, pair or venue', () => {
  test('has the vaults that match on its pages, in order, and the count is their number', async () => {
    const requests = fc.record({
      list: fc.constantFrom(allStrategies, 'two', 'unknown'),
      filter: anyFilters,
      orderBy: fc.constantFrom(...orders),
      direction: fc.constantFrom(...directions),
      first: fc.constantFrom(100, 200),
      after: fc.constant(null),
    })
    await fc.assert(
      fc.asyncProperty(requests, async ({ list, ...page }) => {
        const wanted = expected(list, page).map(({ address }) => address)
        expect((await readToEnd(list, page)).found).toEqual(wanted)
        expect(await countVaults(database, [list], page.filter)).toMatchObject([{ list, count: wanted.length }])
      }),
      { numRuns: 60 },
    )
  })

  test('of each strategy has its own vaults and count', async () => {
    for (const filter of [
      { ...anyVault, venue: ['there'], status: ['earning'] as const },
      { ...anyVault, valueUsd: { gte: '1500', lte: null } },
    ]) {
      const page = { filter, orderBy: 'NET_USD', direction: 'DESC', first: 20, after: null } as const
      const rows = (await readVaultPages(database, strategies, page)).filter(({ isMatch }) => isMatch)
      const wanted = strategies.map((list) => expected(list, page))
      expect(rows.map(identity)).toEqual(
        wanted.flatMap((all, at) => all.slice(0, 21).map(({ address }) => `${strategies[at] ?? ''} ${address}`)),
      )
      expect(await countVaults(database, strategies, filter)).toMatchObject(
        wanted.map((all, at) => ({ list: strategies[at], count: all.length })),
      )
    }
  })

  test('ends a page after many visited vaults that do not match, and continues there', async () => {
    // More than are sorted have such a position, none of them among the first 3,000 in order.
    await runScript(
      database,
      `insert into vault_pool select id, 'LATE', 'USDC', 'late' from vault order by value_usd, id limit 1200`,
    )
    const filter = { ...anyVault, venue: ['late'] }
    const page = { filter, orderBy: 'VALUE_USD', direction: 'DESC', first: 200, after: null } as const
    const rows = await readVaultPages(database, [allStrategies], page)
    expect(rows.map(({ isMatch, isLastExamined }) => ({ isMatch, isLastExamined }))).toEqual([
      { isMatch: false, isLastExamined: true },
    ])
    const { found } = await readToEnd(allStrategies, page)
    expect(new Set(found).size).toBe(1_200)
    await runScript(database, `delete from vault_pool where venue = 'late'`)
  })
})

const columnOf = (vault: PagedVaultRow, orderBy: VaultOrderName): string =>
  orderBy === 'ADDRESS' ? vault.address : String(sortKeys[orderBy](vault))

function isAfter(
  vault: PagedVaultRow,
  before: PagedVaultRow | undefined,
  { orderBy, direction }: VaultPageRequest,
): boolean {
  if (before === undefined) return true
  const difference =
    sortKeys[orderBy](vault) - sortKeys[orderBy](before) ||
    (vault.address === before.address ? 0 : vault.address.toLowerCase() > before.address.toLowerCase() ? 1 : -1)
  return direction === 'ASC' ? difference > 0 : difference < 0
}

describe.each<[when: string, prepare: () => Promise<unknown>]>([
  ['while the statistics are of when there were few', () => Promise.resolve()],
  ['once they are of now', () => database.prisma.$executeRawUnsafe('analyze')],
])('a page, %s', (_when, prepare) => {
  beforeAll(prepare)

  const status: VaultStatus[] = ['idle', 'suspended']
  /** Limits of the merged index ranges and of the sorted rows. */
  test.each<[name: string, lists: string[], filter: Partial<VaultFilter>, ranges: number, sorted: number]>([
    ['of all', [allStrategies], {}, 1, 0],
    ['of rare statuses', [allStrategies], { status }, 1, 0],
    ['of a status that none is in', [allStrategies], { status: ['exiting'] }, 1, 0],
    ['of a strategy', [allStrategies], { strategy: ['one'] }, 1, 0],
    ['of strategies and statuses', [allStrategies], { strategy: ['one', 'two'], status }, 2, 0],
    ['of an unknown strategy', [allStrategies], { strategy: ['four'] }, 1, 0],
    ['of each strategy', strategies, {}, 3, 0],
    ['of each strategy in a status', strategies, { status: ['idle'] }, 3, 0],
    ['of the large owner', [allStrategies], { owner: [large] }, 3, 16],
    ['of the large owner and statuses', [allStrategies], { owner: [large], status }, 3, 16],
    ['of the large owner and a strategy', [allStrategies], { owner: [large], strategy: ['two'] }, 1, 16],
    ['of the large owner in each strategy', strategies, { owner: [large] }, 3, 48],
    ['of small owners', [allStrategies], { owner: smallOwners }, 0, 12],
    ['of an owner of none', [allStrategies], { owner: [addressOf(7)] }, 0, 0],
  ])('%s, reads no more than it is long', async (_name, lists, some, ranges, sorted) => {
    const filter = { ...everything, ...some }
    const middle = vaults.at(count / 2) as PagedVaultRow
    for (const [index, orderBy] of orders.entries()) {
      const cursors = [null, { value: columnOf(middle, orderBy), address: middle.address }]
      for (const [at, direction] of directions.entries()) {
        const page = { filter, orderBy, direction, first, after: cursors[(index + at) % 2] ?? null }
        const { rows, scans } = await explainReads(database, (counted) => readVaultPages(counted, lists, page))
        // One row has the version, and tallies have the strategies of owners.
        const tallies = 1 + strategies.length * (filter.owner?.length ?? 0) * lists.length
        const most = tallies + sorted + ranges * (first + 1 + vaultStatuses.length)
        expect(rows, `${orderBy} ${direction}: ${scans.join(', ')}`).toBeLessThanOrEqual(most)
      }
    }
  })
  test('reads no ranges of strategies that do not exist', async () => {
    const visitedFor = async (many: number): Promise<number> => {
      const strategy = Array.from({ length: many }, (_, index) => `unknown ${index}`)
      const page = {
        filter: { ...everything, strategy },
        orderBy: 'VALUE_USD',
        direction: 'DESC',
        first,
        after: null,
      } as const
      return (await explainReads(database, (counted) => readVaultPages(counted, [allStrategies], page))).pages
    }
    expect((await visitedFor(200)) - (await visitedFor(1))).toBeLessThan(200 * vaultStatuses.length)
  })
})

test('the list of all vaults beside lists of strategies does not widen these', async () => {
  const page = { filter: everything, orderBy: 'VALUE_USD', direction: 'DESC', first, after: null } as const
  const lists = [allStrategies, 'one', 'two']
  const separate = await Promise.all(lists.map((list) => readVaultPages(database, [list], page)))
  const together = await readVaultPages(database, lists, page)
  const keyOf = ({ list, address }: PagedVaultRow): string => `${list} ${address}`
  expect(together.map(keyOf)).toEqual(separate.flat().map(keyOf))
  const counts = await Promise.all(lists.map((list) => countVaults(database, [list], everything)))
  expect(await countVaults(database, lists, everything)).toEqual(counts.flat())
})
