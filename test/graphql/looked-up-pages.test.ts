import { expect, test } from 'vitest'
import { emptyDatabase } from '../support/database.ts'
import { gatewayOn } from '../support/gateway.ts'
import { addressOf, apply, mark, midnight, opened, position, strategy } from '../support/world.ts'

interface Page {
  readonly nodes: readonly { readonly valueUsd: number }[]
  readonly pageInfo: { readonly endCursor: string | null; readonly startCursor: string | null }
}

test('pages of vaults have each vault once, even if the last vault that was looked up is beyond the page', async () => {
  const database = await emptyDatabase()
  // Enough vaults that a list by venue looks up vaults of each strategy in batches, here of fifteen.
  const strategies = Array.from({ length: 200 }, (_, at) => `s${at}`)
  const vaults = strategies.flatMap((id, of) =>
    Array.from({ length: 16 }, (_, at) => ({
      id,
      vault: addressOf(1 + of * 16 + at),
      valueUsd: of === 0 ? 1_000_001 + at : 1 + at,
    })),
  )
  await apply(database, [
    ...strategies.map((id) => strategy(id)),
    ...vaults.map(({ vault, id }) => opened(vault, id)),
    ...vaults.map(({ vault, valueUsd }) => mark(vault, midnight + 10, `${valueUsd}`, { positions: [position('p')] })),
  ])
  const { query: graphql } = gatewayOn(database)
  const wanted = Array.from({ length: 16 }, (_, at) => 1_000_016 - at)
  for (const isBackward of [false, true]) {
    const [length, cursor] = isBackward ? ['last', 'before'] : ['first', 'after']
    const query = `query ($strategy: [ID!], $at: String) {
      vaults(${length}: 14, ${cursor}: $at, where: { strategy: $strategy, venue: ["uniswap-v3"] }
        orderBy: { field: VALUE_USD, direction: ${isBackward ? 'ASC' : 'DESC'} }) {
        nodes { valueUsd } pageInfo { startCursor endCursor } } }`
    const found: number[] = []
    for (let at: string | null = null; found.length < 16;) {
      const { vaults: page }: { vaults: Page } = await graphql(query, { strategy: strategies, at })
      const values = page.nodes.map(({ valueUsd }) => valueUsd)
      found.push(...(isBackward ? values.reverse() : values))
      at = isBackward ? page.pageInfo.startCursor : page.pageInfo.endCursor
      expect(at).not.toBeNull()
    }
    expect(found.slice(0, 16)).toEqual(wanted)
  }
})
