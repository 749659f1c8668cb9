import { beforeAll, describe, expect, test } from 'vitest'
import { emptyDatabase } from '../support/database.ts'
import { everything, screen } from '../support/everything.ts'
import { fleet, fleetFacts } from '../support/fleet.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { type Connection, connectionPages, pageInfo } from '../support/pages.ts'
import { errorOf } from '../support/problem.ts'
import { addressOf, apply, deposit, event, mark, opened, strategy } from '../support/world.ts'

interface Strategy {
  readonly id: string
  readonly vaults: Connection<{ readonly address: string }> & { readonly totalCount: number }
}

describe('the catalogue', () => {
  let gateway: TestGateway

  beforeAll(async () => {
    const database = await emptyDatabase()
    await apply(database, everything)
    gateway = gatewayOn(database)
  })

  const selection = 'id name tagline description pairs { a b venues }'
  const entry = (id: string): object => ({
    id,
    name: `The ${id}`,
    tagline: `${id} in a line`,
    description: `What ${id} does`,
    pairs: screen.strategies[id],
  })

  test('is in the order of first publication, each with its live pairs', async () => {
    const { strategies } = await gateway.query<{ strategies: unknown[] }>(`{ strategies { ${selection} } }`)
    expect(strategies).toEqual([entry('seasoned'), entry('fresh')])
  })

  test('has realised liveApr and sigma, or null before there are any', async () => {
    const { strategies } = await gateway.query<{ strategies: unknown[] }>('{ strategies { id liveApr sigma } }')
    const anyNumber = expect.any(Number) as unknown
    expect(strategies).toEqual([
      { id: 'seasoned', liveApr: anyNumber, sigma: anyNumber },
      { id: 'fresh', liveApr: null, sigma: null },
    ])
  })

  test('changes its pairs when the screen re-ranks', async () => {
    const database = await emptyDatabase()
    await apply(database, everything)
    const pairs = [{ a: 'PEPE', b: 'WETH', venues: ['uniswap-v3'] }]
    await apply(database, [{ ...screen, ts: screen.ts + 60, strategies: { seasoned: pairs } }])
    const { strategies } = await gateway.query<{ strategies: unknown[] }>('{ strategies { id pairs { a b venues } } }')
    expect(strategies).toEqual([
      { id: 'seasoned', pairs },
      { id: 'fresh', pairs: [] },
    ])
  })

  test('returns a strategy by its id', async () => {
    const { strategy } = await gateway.query<{ strategy: unknown }>('{ strategy(id: "fresh") { id name } }')
    expect(strategy).toEqual({ id: 'fresh', name: 'The fresh' })
  })

  test.each(['', 'none', 'FRESH'])('returns null for an unknown id: "%s"', async (id) => {
    const query = 'query ($id: ID!) { strategy(id: $id) { id } }'
    expect(await gateway.query(query, { id })).toEqual({ strategy: null })
  })

  test.each([['\0'], [null], [{}]])('refuses an invalid id, and names the argument: %j', async (id) => {
    const error = await errorOf(await gateway.post('query ($id: ID!) { strategy(id: $id) { id } }', { id }))
    expect(error.extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'id' })
    expect(gateway.reported).toEqual([])
  })
})

describe('the vaults of strategies', () => {
  let gateway: TestGateway

  beforeAll(async () => {
    const database = await emptyDatabase()
    await apply(database, fleetFacts)
    gateway = gatewayOn(database)
  })

  const addressesOf = (id: string, status?: string): string[] =>
    fleet
      .filter((vault) => vault.strategy === id && vault.status === (status ?? vault.status))
      .map(({ address }) => address)

  const list = `query ($where: VaultWhere, $first: Int! = 50, $after: String, $id: ID! = "one") {
    strategies { id vaults(where: $where, first: $first, after: $after, orderBy: { field: ADDRESS, direction: ASC }) {
      totalCount nodes { address } ${pageInfo} } }
    strategy(id: $id) { id vaults(where: $where, first: $first, after: $after, orderBy: { field: ADDRESS, direction: ASC }) {
      totalCount nodes { address } ${pageInfo} } }
  }`

  async function ask(variables: Record<string, unknown> = {}): Promise<{ strategies: Strategy[]; strategy: Strategy }> {
    return gateway.query(list, variables)
  }

  const listed = ({ vaults }: Strategy): string[] => vaults.nodes.map(({ address }) => address)

  test('belong to their strategy, and are counted', async () => {
    const { strategies } = await ask()
    expect(strategies.map((strategy) => [strategy.id, listed(strategy), strategy.vaults.totalCount])).toEqual([
      ['one', addressesOf('one'), 4],
      ['two', addressesOf('two'), 4],
      ['unused', [], 0],
    ])
  })

  test('are filtered in each', async () => {
    const { strategies } = await ask({ where: { status: ['EARNING'] } })
    expect(strategies.map(listed)).toEqual([addressesOf('one', 'EARNING'), addressesOf('two', 'EARNING'), []])
    expect(strategies.map(({ vaults }) => vaults.totalCount)).toEqual([2, 1, 0])
    const none = await ask({ where: { strategy: ['two'] } })
    expect(none.strategies.map(listed)).toEqual([[], addressesOf('two'), []])
  })

  test.each([1, 3, 4])('are each on one page of %i', async (first) => {
    for (const id of ['one', 'two']) {
      const pages = await connectionPages(async (after) => (await ask({ id, first, after })).strategy.vaults)
      expect(pages.flatMap(({ nodes }) => nodes.map(({ address }) => address))).toEqual(addressesOf(id))
      expect(pages).toHaveLength(Math.ceil(4 / first))
    }
  })

  test('are limited to the page in each', async () => {
    const { strategies } = await ask({ first: 2 })
    expect(strategies.map(listed)).toEqual([addressesOf('one').slice(0, 2), addressesOf('two').slice(0, 2), []])
    expect(strategies.map(({ vaults }) => vaults.pageInfo.hasNextPage)).toEqual([true, true, false])
  })

  test('name the invalid argument in errors', async () => {
    const error = await errorOf(await gateway.post(list, { first: 0 }))
    expect(error.extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'first' })
  })
})

test('the performance of a strategy has complete days only, also if none is complete yet', async () => {
  const database = await emptyDatabase()
  const [vault, hour] = [addressOf(1), 3_600]
  await apply(database, [strategy('one', 0), opened(vault, 'one', 0), deposit(vault, 10, '5'), mark(vault, hour, '5')])
  const performance = '{ strategy(id: "one") { performance { since until timeWeightedReturn } } }'
  const none = { since: null, until: null, timeWeightedReturn: null }
  expect(await gatewayOn(database).query(performance)).toEqual({ strategy: { performance: none } })
})

test('the performance of a strategy leaves out a day on which a vault had value only in between', async () => {
  const database = await emptyDatabase()
  const [vault, hour, day] = [addressOf(1), 3_600, 86_400]
  const withdrawn = { type: 'withdraw', amountUsd: '6', valueBeforeUsd: '6', prices: { USDC: '1' } } as const
  await apply(database, [
    ...[strategy('one', 0), opened(vault, 'one', 0), deposit(vault, hour, '5'), mark(vault, 2 * hour, '6')],
    ...[event(vault, 3 * hour, withdrawn), deposit(vault, day + hour, '5'), mark(vault, 3 * day, '5')],
  ])
  const fields = 'performance { since until timeWeightedReturn }'
  const found = await gatewayOn(database).query(
    `{ vault(address: "${vault}") { ${fields} } strategy(id: "one") { ${fields} } }`,
  )
  expect(found).toEqual({
    vault: { performance: { since: 0, until: 3 * day, timeWeightedReturn: expect.closeTo(0.2, 12) as number } },
    strategy: { performance: { since: day, until: 3 * day, timeWeightedReturn: 0 } },
  })
})
