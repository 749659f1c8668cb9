import { toAddress } from '../../src/domain/address.ts'
import { OperationCache } from '../../src/graphql/execution/operation-cache.ts'
import { schema } from '../../src/graphql/schema/schema.ts'
import { defaultQueryLimits, maxFilterValues } from '../../src/limits.ts'

/** A query as large as the limits permit for its shape. */
export interface ExpensiveQuery {
  readonly shape: string
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>>
}

/** Returns a document that repeats a selection a number of times, or requests a number of objects. */
type Shape = (times: number) => string

const point = 'ts valueUsd capitalInUsd capitalOutUsd netUsd changeUsd'
const row = 'txHash logIndex block ts type amountUsd positionId reason'
const openPosition = `id pool { a b venue feeTier } range { lower upper current } ticks { lower } inRange pendingRewardsUsd`
const snapshot = `address owner strategyId status valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd
  updatedAt fees { contributedUsd withdrawnUsd taxedUsd highWaterUsd } suspension { reason } positions { ${openPosition} }`

const performance = 'since until timeWeightedReturn maxDrawdown volatility'
/** A time in unix seconds before which the long series have points. */
const historyEnd = 1_700_006_400 + 100_000

const fullType = `kind name description enumValues { name description } inputFields { name defaultValue }
  fields { name description type { kind name ofType { kind name ofType { name } } } args { name type { name } } }`

/**
 * Returns a query of each shape, with the largest number of repetitions within the limits.
 * @param longSeriesVaults addresses of vaults with a long series
 */
export function expensiveQueries(longSeriesVaults: readonly string[]): ExpensiveQuery[] {
  const page = (of: string, beside = ''): string =>
    `{ vaults(first: 200, orderBy: { field: ADDRESS, direction: ASC }) { nodes { ${of} } } ${beside} }`
  /** A field that fails, so that the compiled operation falls back to graphql-js. */
  const failingField = `failing: vault(address: "${longSeriesVaults[0] ?? ''}") { events(first: 0) { pageInfo { hasNextPage } } }`
  const repeat = (times: number, part: (index: number) => string): string =>
    Array.from({ length: times }, (_, index) => part(index)).join(' ')
  const shapes: Readonly<Record<string, Shape>> = {
    'whole long series': (times) =>
      `{ ${repeat(times, (at) => `a${at}: vault(address: "${longSeriesVaults[at % longSeriesVaults.length] ?? ''}") { equity(points: 2000, since: ${at}) { ${point} } }`)} }`,
    'long series of a page': (times) => page(`equity(points: ${times + 1}) { ${point} }`),
    'series of a page with a field error': (times) => page(`equity(points: ${times + 1}) { ${point} }`, failingField),
    'windows of all series': (times) => page(repeat(times, (at) => `a${at}: equity(points: 2, since: ${at}) { ts }`)),
    'counts of ledgers': (times) =>
      `{ vaults(first: ${times}, orderBy: { field: ADDRESS, direction: ASC }) { nodes { events(first: 1) { totalCount } } } }`,
    'rows of all ledgers': (times) => page(`events(first: ${times}) { nodes { ${row} } }`),
    'pages of ledgers': (times) =>
      page(repeat(times, (at) => `a${at}: events(first: 1, since: ${at}) { nodes { ts } }`)),
    'a wide page': (times) =>
      page(`${snapshot} strategy { id name pairs { a } } equity(points: ${times + 1}) { ts netUsd }`),
    'vaults in strategies in vaults': (times) =>
      `{ vaults(first: ${times}) { nodes { strategy { vaults(first: 20) { nodes { strategy { vaults(first: 5) { nodes { address } } } } } } } } }`,
    'past states of a vault': (times) =>
      `{ ${repeat(times, (at) => `a${at}: vault(address: "${longSeriesVaults[0] ?? ''}", at: ${historyEnd - at * 60}) { ${snapshot} }`)} }`,
    'past states by id': (times) =>
      `{ nodes(ids: [${repeat(times, (at) => `"${longSeriesVaults[0] ?? ''}@${historyEnd - at * 60}"`)}]) { ... on Vault { ${snapshot} } } }`,
    'series of a past vault': (times) =>
      `{ ${repeat(times, (at) => `a${at}: vault(address: "${longSeriesVaults[0] ?? ''}", at: ${historyEnd - at * 60}) { equity(points: 500) { ts } }`)} }`,
    'performance of a page': (times) => `{ vaults(first: ${times}) { nodes { performance { ${performance} } } } }`,
    'performance in many windows': (times) =>
      `{ ${repeat(times, (at) => `a${at}: vault(address: "${longSeriesVaults[at % longSeriesVaults.length] ?? ''}") { performance(since: ${at * 86_400}) { ${performance} } }`)} }`,
    'performance of strategies': (times) =>
      `{ strategies { ${repeat(times, (at) => `a${at}: performance(since: ${at * 86_400}) { ${performance} }`)} } }`,
    'series by other curves': (times) =>
      `{ ${repeat(times, (at) => `a${at}: vault(address: "${longSeriesVaults[at % longSeriesVaults.length] ?? ''}") { equity(points: 2000, by: MARKET, since: ${at}) { ts marketDeltaUsd } }`)} }`,
    'lists by an unknown pair': (times) =>
      `{ ${repeat(times, (at) => `a${at}: vaults(first: 1, where: { pair: { a: "N${at}", b: "N" } }) { nodes { address } }`)} }`,
    'totals by value': (times) =>
      `{ ${repeat(times, (at) => `a${at}: vaults(first: 1, where: { valueUsd: { gte: "${at}" } }) { totalCount }`)} }`,
    'totals of strategies by venue': (times) =>
      `{ strategies { ${repeat(times, (at) => `a${at}: vaults(first: 1, where: { venue: ["v${at}"] }) { totalCount }`)} } }`,
    'unknown nodes': (times) =>
      `{ ${repeat(times, (at) => `a${at}: nodes(ids: [${Array.from({ length: 200 }, (_, id) => `"0x${String(at * 1_000 + id).padStart(40, '9')}:x"`).join(' ')}]) { id }`)} }`,
    introspection: (times) => `{ ${repeat(times, (at) => `a${at}: __schema { types { ${fullType} } }`)} }`,
    'a repeated field': (times) => `{ strategies { ${'id '.repeat(times)} } }`,
    'a repeated selection': (times) => `{ ${'strategies { id } '.repeat(times)} }`,
    'a repeated selection with arguments': (times) => `{ ${'vaults(first: 1) { totalCount } '.repeat(times)} }`,
    'parallel fragments': (times) =>
      `{ strategies { ${repeat(times, (at) => `...f${at}`)} } } ${repeat(times, (at) => `fragment f${at} on Strategy { id }`)}`,
    'nested fragments': (times) =>
      `{ strategies { ...f0 } } ${repeat(times, (at) => `fragment f${at} on Strategy { id ...f${at + 1} ...f${at + 1} }`)} fragment f${times} on Strategy { id }`,
  }
  const largestQueries = Object.entries(shapes).map(([shape, toDocument]) => ({
    shape,
    query: largestDocument(toDocument),
    variables: {},
  }))
  return [...largestQueries, manyOwners]
}

/** Three owner filters of the maximum length; the checksum of each address takes a hash to verify. */
const manyOwners: ExpensiveQuery = {
  shape: 'many owners',
  query: `query ($a: [Address!], $b: [Address!], $c: [Address!]) {
    a: vaults(where: { owner: $a }) { totalCount }
    b: vaults(where: { owner: $b }) { totalCount }
    c: vaults(where: { owner: $c }) { totalCount }
  }`,
  variables: { a: owners(1), b: owners(2), c: owners(3) },
}

/** Returns valid addresses, as many as a filter may have. */
function owners(seed: number): string[] {
  return Array.from({ length: maxFilterValues }, (_, at) =>
    toAddress(`0x${(seed * maxFilterValues + at).toString(16).padStart(40, 'abcdef')}`),
  )
}

/** Returns the document of a shape with the largest number of repetitions within the limits, by binary search. */
function largestDocument(toDocument: Shape): string {
  let accepted = 0
  let refused = 4_000
  while (refused - accepted > 1) {
    const times = Math.floor((accepted + refused) / 2)
    if (isWithinLimits(toDocument(times))) accepted = times
    else refused = times
  }
  if (accepted === 0) throw new Error(`A single repetition exceeds the limits: ${toDocument(1)}`)
  return toDocument(accepted)
}

/** Tells whether the gateway would execute a document, by its size and cost. */
function isWithinLimits(query: string): boolean {
  const prepared = new OperationCache(schema, defaultQueryLimits).prepare(query, 'sender')
  const operation = prepared.select(null)
  if (prepared.errors.length > 0 || operation?.sizeError !== null) return false
  return operation.costOf({}).units <= defaultQueryLimits.cost
}
