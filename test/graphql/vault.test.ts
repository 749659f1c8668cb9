import { beforeAll, describe, expect, test } from 'vitest'
import { toAddress } from '../../src/domain/address.ts'
import { emptyDatabase } from '../support/database.ts'
import { everything, vaultThatIs } from '../support/everything.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { errorOf } from '../support/problem.ts'
import { apply, deposit, mark, midnight, opened, owner, position, vaultA, vaultB } from '../support/world.ts'

let gateway: TestGateway

beforeAll(async () => {
  const database = await emptyDatabase()
  const ticks = { lower: -100, upper: 100, current: 99 }
  const fees = { contributedUsd: '100', withdrawnUsd: '10', taxedUsd: '0.5', highWaterUsd: '7' }
  await apply(database, [
    ...everything,
    opened(vaultA, 'fresh'),
    deposit(vaultA, midnight + 10, '100'),
    mark(vaultA, midnight + 20, '90', {
      positions: [{ ...position('zeta', '120'), ticks }, position('alpha')],
      fees,
      prices: { USDC: '0.95' },
    }),
  ])
  gateway = gatewayOn(database)
})

async function vault<Data>(address: string, selection: string): Promise<Data> {
  const source = `query ($address: Address!) { vault(address: $address) { ${selection} } }`
  return (await gateway.query<{ vault: Data }>(source, { address })).vault
}

describe('a vault', () => {
  test('has the values of its facts', async () => {
    const amounts = 'valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd'
    const answer = await vault(vaultA, `address owner strategyId status ${amounts} suspension { reason } updatedAt`)
    expect(answer).toEqual({
      address: toAddress(vaultA),
      owner: toAddress(owner),
      strategyId: 'fresh',
      status: 'EARNING',
      valueUsd: 90,
      capitalInUsd: 100,
      capitalOutUsd: 0,
      netUsd: -10,
      strategyDeltaUsd: -5,
      marketDeltaUsd: -5,
      suspension: null,
      updatedAt: midnight + 20,
    })
  })

  test("has its positions in the mark's order, with ticks if the mark has them", async () => {
    const selection = `positions {
      id positionId pool { a b venue feeTier } range { lower upper current } tickRange: ticks { lower upper current } inRange pendingRewardsUsd }`
    const pool = { a: 'WETH', b: 'USDC', venue: 'uniswap-v3', feeTier: 500 }
    expect(await vault(vaultA, selection)).toEqual({
      positions: [
        {
          id: `${toAddress(vaultA)}/position/zeta`,
          positionId: 'zeta',
          pool,
          range: { lower: 90, upper: 110, current: 120 },
          tickRange: { lower: -100, upper: 100, current: 99 },
          inRange: true,
          pendingRewardsUsd: 1.5,
        },
        {
          id: `${toAddress(vaultA)}/position/alpha`,
          positionId: 'alpha',
          pool,
          range: { lower: 90, upper: 110, current: 100 },
          tickRange: null,
          inRange: true,
          pendingRewardsUsd: 1.5,
        },
      ],
    })
  })

  test('has its fee summary and its strategy', async () => {
    const selection = 'fees { contributedUsd withdrawnUsd taxedUsd highWaterUsd } strategy { id name }'
    expect(await vault(vaultA, selection)).toEqual({
      fees: { contributedUsd: 100, withdrawnUsd: 10, taxedUsd: 0.5, highWaterUsd: 7 },
      strategy: { id: 'fresh', name: 'The fresh' },
    })
  })

  test.each(Object.entries(vaultThatIs))('that is %s has this status in capitals', async (status, address) => {
    expect(await vault(address, 'status')).toEqual({ status: status.toUpperCase() })
  })

  test('that is suspended has the reason, the time, and the note that exits remain open', async () => {
    const { suspension } = await vault<{ suspension: unknown }>(
      vaultThatIs.suspended,
      'suspension { reason since exitsAvailable }',
    )
    const since = expect.any(Number) as unknown
    expect(suspension).toEqual({ reason: 'an oracle strays', since, exitsAvailable: true })
  })

  test.each([vaultA, toAddress(vaultA), `0x${vaultA.slice(2).toUpperCase()}`])('is known as %s', async (address) => {
    expect(await vault(address, 'address')).toEqual({ address: toAddress(vaultA) })
  })

  test('that is not known is null', async () => {
    const response = await gateway.post(`{ vault(address: "${vaultB}") { address } }`)
    expect([response.status, await response.json()]).toMatchObject([200, { data: { vault: null } }])
  })
})

describe('a bad address', () => {
  const source = 'query ($address: Address!) { vault(address: $address) { valueUsd } }'

  test.each(['', '0x', vaultA.slice(0, -1), `${vaultA}0`, '0xA1'.padEnd(42, 'a'), 7, true, ['x'], {}, null])(
    'is refused by name: %j',
    async (address) => {
      const response = await gateway.post(source, { address })
      expect(response.status).toBe(400)
      const { extensions } = await errorOf(response)
      expect(extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'address' })
    },
  )

  test('in the query itself makes it invalid', async () => {
    const response = await gateway.post('{ vault(address: "0x12") { valueUsd } }')
    expect(response.status).toBe(400)
    const { message, extensions } = await errorOf(response)
    expect(message).toContain('"0x12" is not an address')
    expect(extensions).toEqual({ code: 'GRAPHQL_VALIDATION_FAILED' })
  })
})

describe('a request that cannot run', () => {
  test.each([
    ['query A { __typename }', 'B', 'Unknown operation named "B".'],
    ['query A { __typename } query B { __typename }', 'C', 'Unknown operation named "C".'],
    [
      'query A { __typename } query B { __typename }',
      null,
      'Must provide operation name if query contains multiple operations.',
    ],
  ])('names the operation that is unknown: %s, %s', async (query, operationName, message) => {
    for (const accept of ['application/json', 'application/graphql-response+json']) {
      const body = JSON.stringify({ query, operationName })
      const headers = { 'content-type': 'application/json', accept }
      const response = await gateway.get('/graphql', { method: 'POST', headers, body })
      const error = await errorOf(response)
      expect([response.status, error.message, error.extensions]).toEqual([
        400,
        message,
        { code: 'OPERATION_RESOLUTION_FAILURE' },
      ])
    }
  })

  test.each([
    ['{ nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    ['{', 'GRAPHQL_PARSE_FAILED'],
    ['mutation { vault }', 'BAD_REQUEST'],
    ['subscription { vault }', 'GRAPHQL_VALIDATION_FAILED'],
    ['subscription { meta { version } }', 'BAD_REQUEST'],
    ['query A { __typename } query B { __typename }', 'OPERATION_RESOLUTION_FAILURE'],
  ])('is a bad one: %s', async (source, code) => {
    const response = await gateway.post(source)
    expect(response.status).toBe(400)
    expect((await errorOf(response)).extensions).toEqual({ code })
    expect(gateway.reported).toEqual([])
  })
})
