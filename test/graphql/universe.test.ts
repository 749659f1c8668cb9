import { beforeAll, describe, expect, test } from 'vitest'
import { emptyDatabase } from '../support/database.ts'
import { everything, screen } from '../support/everything.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { errorOf } from '../support/problem.ts'
import { apply } from '../support/world.ts'

let gateway: TestGateway

beforeAll(async () => {
  const database = await emptyDatabase()
  await apply(database, everything)
  gateway = gatewayOn(database)
})

const source = `query ($category: AssetCategory, $venue: String, $asset: String) { universe {
  assets(category: $category, venue: $venue) { symbol } pairs(asset: $asset, venue: $venue) { a b } } }`

interface Passed {
  readonly universe: { readonly assets: { symbol: string }[]; readonly pairs: { a: string; b: string }[] }
}

async function symbols(variables: object): Promise<string[]> {
  const { universe } = await gateway.query<Passed>(source, { ...variables })
  return universe.assets.map(({ symbol }) => symbol)
}

async function pairs(variables: object): Promise<string[]> {
  const { universe } = await gateway.query<Passed>(source, { ...variables })
  return universe.pairs.map(({ a, b }) => `${a}/${b}`)
}

test('a text that no asset can have is refused: half a surrogate pair would match U+FFFD', async () => {
  for (const text of ['\ud800', 'a\0']) {
    const response = await gateway.post(source, { venue: text })
    expect((await errorOf(response)).extensions).toMatchObject({ code: 'BAD_USER_INPUT', argument: 'venue' })
  }
})

describe('the universe', () => {
  test("has the assets and pairs that passed the screen, in the screen's order", async () => {
    const { universe } = await gateway.query<{ universe: object }>(`{ universe {
      assets { symbol name category venues liquidityUsd } pairs { a b venues tvlUsd emissions } screenedAt } }`)
    expect(universe).toEqual({
      assets: screen.assets.map((asset) => ({
        ...asset,
        category: asset.category.toUpperCase().replace(' ', '_'),
        liquidityUsd: Number(asset.liquidityUsd),
      })),
      pairs: screen.pairs.map((pair) => ({ ...pair, tvlUsd: Number(pair.tvlUsd) })),
      screenedAt: screen.ts,
    })
  })

  test.each([
    [{}, ['WETH', 'AAPLx', 'USDC', 'PEPE', 'WBTC']],
    [{ category: 'MAJOR' }, ['WETH', 'WBTC']],
    [{ category: 'STABLE' }, ['USDC']],
    [{ category: 'STOCK_TOKEN' }, ['AAPLx']],
    [{ category: 'MEME' }, ['PEPE']],
    [{ venue: 'aerodrome' }, ['WETH', 'AAPLx']],
    [{ venue: 'aerodrome', category: 'MAJOR' }, ['WETH']],
    [{ venue: 'nowhere' }, []],
    [{ venue: '' }, []],
    [{ venue: null, category: null }, ['WETH', 'AAPLx', 'USDC', 'PEPE', 'WBTC']],
  ])('gives the assets of %j', async (variables, expected) => {
    expect(await symbols(variables)).toEqual(expected)
  })

  test.each([
    [{}, ['WETH/USDC', 'AAPLx/USDC', 'WBTC/WETH']],
    [{ asset: 'WETH' }, ['WETH/USDC', 'WBTC/WETH']],
    [{ asset: 'USDC' }, ['WETH/USDC', 'AAPLx/USDC']],
    [{ asset: 'weth' }, []],
    [{ venue: 'uniswap-v3' }, ['WETH/USDC', 'WBTC/WETH']],
    [{ asset: 'USDC', venue: 'aerodrome' }, ['WETH/USDC', 'AAPLx/USDC']],
    [{ asset: 'WBTC', venue: 'aerodrome' }, []],
  ])('gives the pairs of %j', async (variables, expected) => {
    expect(await pairs(variables)).toEqual(expected)
  })

  test.each([
    ['category', { category: 'RICH' }],
    ['category', { category: 'stock token' }],
    ['venue', { venue: '\0' }],
    ['venue', { venue: 7 }],
    ['asset', { asset: 'a\0b' }],
  ])('names the argument that is bad, %s: %j', async (argument, variables) => {
    const error = await errorOf(await gateway.post(source, variables))
    expect(error.extensions).toEqual({ code: 'BAD_USER_INPUT', argument })
    expect(gateway.reported).toEqual([])
  })
})

test('before the first screen, the universe is empty', async () => {
  const empty = gatewayOn(await emptyDatabase())
  const { universe } = await empty.query<{ universe: unknown }>(
    '{ universe { assets { symbol } pairs { a } screenedAt } }',
  )
  expect(universe).toEqual({ assets: [], pairs: [], screenedAt: null })
})
