import {
  EquityDocument,
  EventsDocument,
  SnapshotDocument,
  StrategiesDocument,
  UniverseDocument,
} from '../../../src/rest/documents.generated.ts'
import type { Exchange } from './load.ts'
import { vaultAddress, type WorldSize } from './world.ts'

/** How the same thing is asked for: a system speaks one of these, the gateway the first two. */
export interface Ways {
  readonly rest?: (address: string) => Exchange
  readonly graphql: (address: string) => Exchange
  readonly postgraphile?: (address: string) => Exchange
  /** The one statement's answer. */
  readonly bare?: (address: string) => Exchange
}

export interface Workload {
  readonly name: string
  readonly what: string
  /** Numbers of the vaults it asks about in turn: first, and how many. */
  readonly vaults: (size: WorldSize) => readonly [first: number, count: number]
  readonly ways: Ways
}

/** Enough of them that no two connections ask for the same one at once. */
const maxVaults = 200

const anyVaults = ({ vaults }: WorldSize): [number, number] => [1, Math.min(maxVaults, vaults)]

export function exchangesOf(way: (address: string) => Exchange, workload: Workload, size: WorldSize): Exchange[] {
  const [first, count] = workload.vaults(size)
  return Array.from({ length: count }, (_, index) => way(vaultAddress(first + index)))
}

const get = (path: string): Exchange => ({ method: 'GET', path })
const graphql = (query: string, variables: object = {}): Exchange => ({
  method: 'POST',
  path: '/graphql',
  body: JSON.stringify({ query, variables }),
})

/** The list of W2 for a number of vaults. */
export const vaultList = (first: number): Exchange =>
  graphql(
    `
      query Vaults($first: Int!) {
        vaults(first: $first) {
          nodes {
            address
            status
            valueUsd
            netUsd
            strategyDeltaUsd
            marketDeltaUsd
            strategy {
              id
              name
              liveApr
              sigma
              pairs {
                a
                b
                venues
              }
            }
            positions {
              id: positionId
              pool {
                a
                b
                venue
                feeTier
              }
              range {
                lower
                upper
                current
              }
              inRange
              pendingRewardsUsd
            }
          }
        }
      }
    `,
    { first },
  )

const oneOf = 'query ($address: String!) { vaultByAddress(address: $address)'
const positions = `positionsByVaultAddress(orderBy: ORDINAL_ASC) {
  nodes { rowId a b venue feeTier priceLower priceUpper priceCurrent inRange pendingRewardsUsd } }`
const pairs = 'strategyPairsByStrategyId(orderBy: ORDINAL_ASC) { nodes { a b venues } }'

export const workloads: readonly Workload[] = [
  {
    name: 'W1',
    what: "a vault's snapshot",
    vaults: anyVaults,
    ways: {
      rest: (address) => get(`/vault/${address}/snapshot`),
      graphql: (address) => graphql(SnapshotDocument.toString(), { address }),
      bare: (address) => get(`/W1/${address}`),
      postgraphile: (address) =>
        graphql(
          `${oneOf} {
            address owner status strategyId valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd
            ${positions} feesContributedUsd feesWithdrawnUsd feesTaxedUsd feesHighWaterUsd
            suspensionReason suspendedAt updatedAt } }`,
          { address },
        ),
    },
  },
  {
    name: 'W2',
    what: '50 vaults with strategy, pairs and positions',
    vaults: () => [1, 1],
    ways: {
      graphql: () => vaultList(50),
      bare: () => get('/W2'),
      postgraphile: () =>
        graphql(`{
          allVaults(orderBy: [VALUE_USD_DESC, ADDRESS_DESC], first: 50) {
            nodes {
              address status valueUsd netUsd strategyDeltaUsd marketDeltaUsd
              strategyByStrategyId { rowId name liveApr sigma ${pairs} } ${positions}
            }
          }
        }`),
    },
  },
  {
    name: 'W3',
    what: '100 ledger rows of a type',
    vaults: anyVaults,
    ways: {
      rest: (address) => get(`/vault/${address}/events?type=harvest`),
      graphql: (address) => graphql(EventsDocument.toString(), { address, type: ['HARVEST'] }),
      bare: (address) => get(`/W3/${address}`),
      postgraphile: (address) =>
        graphql(
          `${oneOf} {
            ledgerRowsByVaultAddress(condition: { type: harvest }, orderBy: [BLOCK_DESC, LOG_INDEX_DESC, TX_HASH_DESC], first: 100) {
              nodes { txHash logIndex block ts type amountUsd positionId reason } } } }`,
          { address },
        ),
    },
  },
  {
    name: 'W4',
    what: '500 equity points of the longest series',
    vaults: ({ longSeries }) => [1, longSeries],
    ways: {
      rest: (address) => get(`/vault/${address}/equity`),
      graphql: (address) => graphql(EquityDocument.toString(), { address }),
    },
  },
  {
    name: 'W4m',
    what: '500 equity points of a middling series',
    vaults: ({ longSeries }) => [longSeries + 1, longSeries],
    ways: {
      rest: (address) => get(`/vault/${address}/equity`),
      graphql: (address) => graphql(EquityDocument.toString(), { address }),
    },
  },
  {
    name: 'W5',
    what: 'strategies with pairs',
    vaults: () => [1, 1],
    ways: {
      rest: () => get('/strategies'),
      graphql: () => graphql(StrategiesDocument.toString()),
      bare: () => get('/W5'),
      postgraphile: () =>
        graphql(
          `{ allStrategies(orderBy: ORDINAL_ASC) { nodes { rowId name tagline description ${pairs} liveApr sigma } } }`,
        ),
    },
  },
  {
    name: 'W6',
    what: 'the universe',
    vaults: () => [1, 1],
    ways: {
      rest: () => get('/universe'),
      graphql: () => graphql(UniverseDocument.toString()),
      bare: () => get('/W6'),
      postgraphile: () =>
        graphql(`
          {
            allUniverseAssets(orderBy: ORDINAL_ASC) {
              nodes {
                symbol
                name
                category
                venues
                liquidityUsd
              }
            }
          }
        `),
    },
  },
]

/** How one way asks for a workload; null where it has no answer. */
export const askedBy =
  (way: keyof Ways) =>
  (workload: Workload): ((address: string) => Exchange) | null =>
    workload.ways[way] ?? null

/** The first request to a system, repeated until it answers. */
export function first(way: keyof Ways): Exchange {
  const exchange = workloads[0]?.ways[way]?.(vaultAddress(1))
  if (exchange === undefined) throw new Error(`The first workload can't be asked by ${way}`)
  return exchange
}
