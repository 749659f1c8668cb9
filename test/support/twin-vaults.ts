import { toAddress } from '../../src/domain/address.ts'
import { positionGlobalId } from '../../src/domain/identity/global-id.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { deposit, event, mark, midnight, opened, position, strategy, vaultA, vaultB } from './world.ts'

/** Addresses of two vaults, each with a position of the same raw identifier and a log of the same transaction. */
export const twins = [toAddress(vaultA), toAddress(vaultB)] as const

const sharedPositionId = '1'
/** Global ids of their positions. */
export const twinPositions = twins.map((vault) => positionGlobalId(vault, sharedPositionId)) as [string, string]

/** Returns a mark of a vault whose position has this current price. */
export function marked(vault: string, ts: number, current: string): FactInput {
  return mark(vault, ts, '100', { positions: [position(sharedPositionId, current)] })
}

const txHash = `0x${'0f'.repeat(32)}`

export const twinFacts: readonly FactInput[] = [
  strategy('one'),
  ...twins.flatMap((vault, index) => [
    opened(vault, 'one'),
    deposit(vault, midnight + 10, '100'),
    marked(vault, midnight + 20, index === 0 ? '95' : '105'),
    { ...event(vault, midnight + 30, { type: 'fee', amountUsd: `${String(index + 1)}.5` }), txHash, logIndex: index },
  ]),
]

const vaultFields = `__typename id address status valueUsd
  strategy { __typename id name }
  positions { __typename id positionId inRange range { __typename lower upper current } }
  events(first: 5) { __typename nodes { __typename id type amountUsd } }`

/** Query of both vaults with all type names, so that a client adds none. */
export const portfolio = `query Portfolio {
  vaults(first: 10, orderBy: { field: ADDRESS, direction: ASC }) { __typename nodes { ${vaultFields} } }
}`

/** The same query, with the raw identifier of positions as their id. */
export const portfolioByRawIds = portfolio.replace('id positionId', 'id: positionId')

export const positionById = `query PositionById($id: ID!) {
  node(id: $id) { __typename id ... on Position { inRange range { __typename lower upper current } } }
}`

export interface Portfolio {
  readonly vaults: {
    readonly nodes: readonly {
      readonly id: string
      readonly positions: readonly { readonly id: string; readonly range: { readonly current: number } }[]
    }[]
  }
}

/** Returns the current prices of all positions. */
export function currentPrices({ vaults }: Portfolio): number[] {
  return vaults.nodes.flatMap(({ positions }) => positions.map(({ range }) => range.current))
}
