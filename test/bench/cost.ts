/**
 * Queries each list, field and count separately, in worlds of two sizes on PostgreSQL, and prints the time per unit of its
 * query cost, in total and in the database. Lists those that exceed ten times the median.
 *   BENCH_DATABASE_URL=postgres://... npm run bench:cost [-- --small 2000 --large 100000 --keep]
 */
import { parseArgs } from 'node:util'
import { openPostgreSql } from '../../src/database/postgresql/database.ts'
import { vaultStatuses } from '../../src/domain/vault.ts'
import { vaultOrders } from '../../src/database/read/vault-lists/order.ts'
import { readingBy } from '../support/database.ts'
import { gatewayOn } from '../support/gateway.ts'
import { median } from './median.ts'
import { dropPostgreSql, preparePostgreSql } from './speed/prepare.ts'
import { strategyCount, vaultAddress, type WorldSize, worldEnd } from './speed/world.ts'

const rounds = 25
/** Maximum time per unit, as a multiple of the median. */
const maxMultiple = 10

const { values } = parseArgs({
  options: {
    small: { type: 'string', default: '2000' },
    large: { type: 'string', default: '100000' },
    keep: { type: 'boolean', default: false },
  },
})
const server = process.env['BENCH_DATABASE_URL']
if (server === undefined) throw new Error('Set BENCH_DATABASE_URL to the address of a PostgreSQL server')

const vault = `vault(address: "${vaultAddress(1)}")`
const strategies = Array.from({ length: strategyCount }, (_, index) => `"strategy-${index + 1}"`)
const owners = Array.from({ length: 200 }, (_, index) => `"${vaultAddress(900_001 + index)}"`)
const vaultFields = `address owner strategyId status valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd updatedAt`
const positions =
  'positions { positionId inRange pool { a b venue feeTier } range { lower upper current } pendingRewardsUsd }'

const filters: Readonly<Record<string, string>> = {
  'no filter': '',
  'rare status': 'status: [SUSPENDED]',
  'status of no vault': 'status: [EXITING]',
  strategy: 'strategy: ["strategy-1"]',
  'all strategies': `strategy: [${strategies.join(', ')}]`,
  'strategy, status': 'strategy: ["strategy-1"], status: [ATTENTION]',
  owner: `owner: [${owners[0] ?? ''}]`,
  value: 'valueUsd: { gte: 100500, lte: 600000 }',
  'rare value': 'valueUsd: { gte: 100500, lte: 100600 }',
  pair: 'pair: { a: "WETH", b: "USDC" }',
  venue: 'venue: "uniswap-v3"',
  'venue of no vault': 'venue: "nowhere"',
  'pair, venue, value, strategy, status':
    'pair: { a: "WETH", b: "USDC" }, venue: "uniswap-v3", valueUsd: { gte: 110000 }, strategy: ["strategy-1"], status: [ATTENTION]',
  '200 owners': `owner: [${owners.join(', ')}]`,
}

/** A query without reads; its time is subtracted from that of each other query. */
const emptyQueryName = 'empty query'
const emptyQuery = '{ __typename }'

/** Queries by name, each of one list, field or count. */
const queries: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(filters).flatMap(([name, filter]) => [
      ...Object.keys(vaultOrders).map((order) => [
        `vaults by ${order}, ${name}`,
        `{ vaults(where: { ${filter} }, orderBy: { field: ${order} }) { nodes { address } } }`,
      ]),
      [`number of vaults, ${name}`, `{ vaults(where: { ${filter} }) { totalCount } }`],
    ]),
  ),
  'vaults of each strategy': '{ strategies { vaults(first: 3, orderBy: { field: NET_USD }) { nodes { address } } } }',
  'number of vaults of each strategy': `{ strategies { vaults(where: { status: [${vaultStatuses
    .map((status) => status.toUpperCase())
    .join(', ')}] }) { totalCount } } }`,
  'one vault': `{ ${vault} { address } }`,
  'fields of vaults': `{ vaults(first: 200) { nodes { ${vaultFields} fees { contributedUsd withdrawnUsd taxedUsd highWaterUsd } } } }`,
  'positions of vaults': `{ vaults { nodes { ${positions} } } }`,
  'strategies of vaults': '{ vaults { nodes { strategy { name liveApr } } } }',
  'strategies with pairs': '{ strategies { id name pairs { a b venues } } }',
  'equity, few points': `{ ${vault} { equity(points: 10) { ts valueUsd } } }`,
  'equity, many points': `{ ${vault} { equity(points: 2000) { ts valueUsd netUsd changeUsd } } }`,
  'equity of vaults': '{ vaults { nodes { equity(points: 10) { ts netUsd } } } }',
  'ledger rows': `{ ${vault} { events(first: 1000) { nodes { txHash ts type amountUsd } } } }`,
  'ledger rows of types': `{ ${vault} { events(first: 20, type: [HARVEST, FEE]) { nodes { txHash } } } }`,
  'ledger rows of vaults': '{ vaults { nodes { events(first: 1) { nodes { ts } } } } }',
  'number of ledger rows': `{ ${vault} { events { totalCount } } }`,
  'number of ledger rows of a type in a window': `{ ${vault} { events(type: [FEE], since: ${worldEnd - 864_000}, until: ${worldEnd - 86_400}) { totalCount } } }`,
  'number of ledger rows of vaults': '{ vaults { nodes { events { totalCount } } } }',
  'objects by id': `{ nodes(ids: [${Array.from({ length: 50 }, (_, at) => `"${vaultAddress(at + 1)}"`).join(', ')}]) { id } }`,
  'universe, assets': '{ universe { assets { symbol name category venues liquidityUsd } } }',
  'universe, pairs': '{ universe { pairs { a b venues tvlUsd emissions } } }',
}

interface Measurement {
  /** Query cost, in units. */
  readonly cost: number
  /** Milliseconds of all reads. */
  readonly databaseMs: number
  /** Milliseconds of the request. */
  readonly ms: number
}

const [small, large] = [Number(values.small), Number(values.large)]
const [inSmall, inLarge] = [await measureWorld(server, small), await measureWorld(server, large)]
report()

/** Builds a world of this many vaults, and measures each query in it. */
async function measureWorld(url: string, vaults: number): Promise<Map<string, Measurement>> {
  const size: WorldSize = { vaults, longSeries: 2, longPoints: 20_000, middlePoints: 2_000, points: 10, ledgerRows: 10 }
  const world = await preparePostgreSql(url, size, values.keep)
  const database = await openPostgreSql(world.url, 5)
  let databaseMs = 0
  const timed = readingBy(database, async (statement, parameters, signal, reader) => {
    const begun = performance.now()
    const rows = await reader.read(statement, parameters, signal)
    databaseMs += performance.now() - begun
    return rows
  })
  const gateway = gatewayOn(timed)
  const measured = new Map<string, Measurement>()
  for (const [name, query] of Object.entries({ [emptyQueryName]: emptyQuery, ...queries })) {
    const samples: Measurement[] = []
    for (let round = 0; round < rounds; round++) {
      databaseMs = 0
      const begun = performance.now()
      const answer = (await (await gateway.post(query)).json()) as {
        errors?: unknown
        extensions: { cost: { figure: number } }
      }
      if (answer.errors !== undefined) throw new Error(`${name}: ${JSON.stringify(answer.errors)}`)
      samples.push({ cost: answer.extensions.cost.figure, databaseMs, ms: performance.now() - begun })
    }
    // The fastest one: the first ones include planning and compilation.
    measured.set(name, samples.toSorted((a, b) => a.ms - b.ms)[0] as Measurement)
  }
  await database.close()
  if (!values.keep) await dropPostgreSql(url, size)
  return measured
}

/** Prints the measurements in the large world, with their ratios to those in the small one. */
function report(): void {
  const overheadMs = inLarge.get(emptyQueryName)?.ms ?? NaN
  const microsecondsPerUnit = ({ ms, cost }: Measurement): number => (1_000 * Math.max(0, ms - overheadMs)) / cost
  inLarge.delete(emptyQueryName)
  const medianPerUnit = median([...inLarge.values()].map(microsecondsPerUnit))
  console.table(
    Object.fromEntries(
      Array.from(inLarge, ([name, at]) => {
        const before = inSmall.get(name)
        return [
          name,
          {
            cost: at.cost,
            'database, ms': at.databaseMs.toFixed(2),
            'total, ms': at.ms.toFixed(2),
            'us per unit': microsecondsPerUnit(at).toFixed(1),
            'multiple of the median': (microsecondsPerUnit(at) / medianPerUnit).toFixed(1),
            [`ratio to ${small} vaults`]: (at.ms / (before?.ms ?? NaN)).toFixed(1),
          },
        ]
      }),
    ),
  )
  const expensive = Array.from(inLarge).filter(([, one]) => microsecondsPerUnit(one) > maxMultiple * medianPerUnit)
  const listed = expensive.map(([name, one]) => `${name} (${(microsecondsPerUnit(one) / medianPerUnit).toFixed(1)})`)
  console.log(
    `Median of the time per unit: ${medianPerUnit.toFixed(1)} us. More than ${maxMultiple} times that: ${listed.join(', ') || 'none'}`,
  )
}
