import {
  EquityDocument,
  EventsDocument,
  SnapshotDocument,
  StrategiesDocument,
  UniverseDocument,
} from '../../../src/rest/documents.generated.ts'
import type { HttpRequest } from './load.ts'
import { vaultAddress, type WorldSize } from './world.ts'

/** Builds a request for the vault with an address. */
export type RequestBuilder = (address: string) => HttpRequest

/** Equivalent requests of one workload by protocol. The gateway supports the first two, each other system one. */
export interface RequestBuilders {
  readonly rest?: RequestBuilder
  readonly graphql: RequestBuilder
  readonly postgraphile?: RequestBuilder
  readonly bare?: RequestBuilder
}

export type Protocol = keyof RequestBuilders

export interface Workload {
  readonly name: string
  readonly description: string
  /** Range of the vaults that the requests name in turn: the number of the first one, and how many they are. */
  readonly vaults: (size: WorldSize) => readonly [first: number, count: number]
  /** `bench:commits` reads this property from checkouts of other commits: its name stays. */
  readonly ways: RequestBuilders
}

/** More than there are connections, so that concurrent requests name different vaults. */
const maxVaults = 200

const anyVaults = ({ vaults }: WorldSize): [number, number] => [1, Math.min(maxVaults, vaults)]

/** Returns the requests of a workload, one for each vault of its range. */
export function requestsOf(build: RequestBuilder, workload: Workload, size: WorldSize): HttpRequest[] {
  const [first, count] = workload.vaults(size)
  return Array.from({ length: count }, (_, index) => build(vaultAddress(first + index)))
}

const get = (path: string): HttpRequest => ({ method: 'GET', path })
const graphql = (query: string, variables: object = {}): HttpRequest => ({
  method: 'POST',
  path: '/graphql',
  body: JSON.stringify({ query, variables }),
})

/** Builds the GraphQL request of W2, for a list of this many vaults. */
export const vaultList = (first: number): HttpRequest =>
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

const vaultByAddress = 'query ($address: String!) { vaultByAddress(address: $address)'
const positions = `positionsByVaultAddress(orderBy: ORDINAL_ASC) {
  nodes { rowId a b venue feeTier priceLower priceUpper priceCurrent inRange pendingRewardsUsd } }`
const pairs = 'strategyPairsByStrategyId(orderBy: ORDINAL_ASC) { nodes { a b venues } }'

export const workloads: readonly Workload[] = [
  {
    name: 'W1',
    description: "a vault's snapshot",
    vaults: anyVaults,
    ways: {
      rest: (address) => get(`/vault/${address}/snapshot`),
      graphql: (address) => graphql(SnapshotDocument.toString(), { address }),
      bare: (address) => get(`/W1/${address}`),
      postgraphile: (address) =>
        graphql(
          `${vaultByAddress} {
            address owner status strategyId valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd
            ${positions} feesContributedUsd feesWithdrawnUsd feesTaxedUsd feesHighWaterUsd
            suspensionReason suspendedAt updatedAt } }`,
          { address },
        ),
    },
  },
  {
    name: 'W2',
    description: '50 vaults with strategy, pairs and positions',
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
    description: '100 ledger rows of a type',
    vaults: anyVaults,
    ways: {
      rest: (address) => get(`/vault/${address}/events?type=harvest`),
      graphql: (address) => graphql(EventsDocument.toString(), { address, type: ['HARVEST'] }),
      bare: (address) => get(`/W3/${address}`),
      postgraphile: (address) =>
        graphql(
          `${vaultByAddress} {
            ledgerRowsByVaultAddress(condition: { type: harvest }, orderBy: [BLOCK_DESC, LOG_INDEX_DESC, TX_HASH_DESC], first: 100) {
              nodes { txHash logIndex block ts type amountUsd positionId reason } } } }`,
          { address },
        ),
    },
  },
  {
    name: 'W4',
    description: '500 equity points of the longest series',
    vaults: ({ longSeries }) => [1, longSeries],
    ways: {
      rest: (address) => get(`/vault/${address}/equity`),
      graphql: (address) => graphql(EquityDocument.toString(), { address }),
    },
  },
  {
    name: 'W4m',
    description: '500 equity points of a medium series',
    vaults: ({ longSeries }) => [longSeries + 1, longSeries],
    ways: {
      rest: (address) => get(`/vault/${address}/equity`),
      graphql: (address) => graphql(EquityDocument.toString(), { address }),
    },
  },
  {
    name: 'W5',
    description: 'strategies with pairs',
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
    description: 'the universe',
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

/** Returns a function that looks up the builder of a workload's request by one protocol; null where that doesn't support it. */
export const requestBy =
  (protocol: Protocol) =>
  (workload: Workload): RequestBuilder | null =>
    workload.ways[protocol] ?? null

/** Builds the request that is sent to a new process until it answers: W1 for the first vault. */
export function readinessRequest(protocol: Protocol): HttpRequest {
  const request = workloads[0]?.ways[protocol]?.(vaultAddress(1))
  if (request === undefined) throw new Error(`The first workload has no request by ${protocol}`)
  return request
}
