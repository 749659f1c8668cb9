import { beforeAll, expect, test } from 'vitest'
import type { ExecutionResult } from 'graphql'
import { createConsistentReads } from '../../../src/graphql/execution/consistent-reads.ts'
import { createExecutor } from '../../../src/graphql/execution/executor.ts'
import { schema } from '../../../src/graphql/schema/schema.ts'
import { defaultQueryLimits } from '../../../src/limits.ts'
import { emptyDatabase, readingBy } from '../../support/database.ts'
import { apply, deposit, mark, midnight, opened, position, strategy } from '../../support/world.ts'

const vault = `0x${'1'.repeat(40)}`

const filters = {
  none: '',
  status: 'status: [EARNING]',
  'strategy and owner': `strategy: ["one"], owner: ["${vault}"]`,
  value: 'valueUsd: { gte: "1" }',
  pair: 'pair: { a: "USDC", b: "ETH" }',
  venue: 'venue: ["uniswap-v3"]',
  'value and venue': 'valueUsd: { gte: "1" }, venue: ["uniswap-v3"]',
}
const orders = ['VALUE_USD', 'NET_USD']

/** Lists of vaults by each kind of filter, in both kinds of orders, of all and of each strategy, and their counts. */
const lists = Object.entries(filters).flatMap(([filter, where]) =>
  orders.flatMap((order) =>
    ['nodes { address }', 'totalCount'].flatMap((selection) => {
      const list = `vaults(first: 2, where: { ${where} }, orderBy: { field: ${order} }) { ${selection} }`
      const name = `${selection.slice(0, 5)} by ${filter} in the order of ${order}`
      return [
        [name, `{ ${list} }`],
        [`${name}, of strategies`, `{ strategies { ${list} } }`],
      ] as const
    }),
  ),
)

const others = {
  'a vault': `{ vault(address: "${vault}") { address positions { id } fees { taxedUsd } strategy { pairs { a } } } }`,
  'a vault in the past': `{ vault(address: "${vault}", at: ${midnight + 15}) { address valueUsd } }`,
  'a series': `{ vault(address: "${vault}") { equity(points: 2) { ts } } }`,
  'a series by another curve': `{ vault(address: "${vault}") { equity(points: 2, by: MARKET) { ts } } }`,
  'series in a fragment': `{ vaults(first: 1) { nodes { ...V } } } fragment V on Vault { equity(points: 2) { ts } }`,
  'a series of a node': `{ nodes(ids: ["${vault}"]) { ... on Vault { equity(points: 2) { ts } } } }`,
  'a ledger': `{ vault(address: "${vault}") { events(first: 2) { totalCount nodes { type } } } }`,
  'performance of a vault': `{ vault(address: "${vault}") { performance { volatility } } }`,
  'performance of strategies': '{ strategies { performance { volatility } } }',
  'the catalogue and the universe': '{ strategies { name liveApr } universe { assets { symbol } pairs { a } } }',
  feeds: '{ _meta { version feeds { name } } }',
}

/** Runs queries, and records whether admission control was notified of long reads, and whether any was sent. */
async function recording() {
  const database = await emptyDatabase()
  await apply(database, [
    strategy('one'),
    opened(vault, 'one'),
    deposit(vault, midnight + 10, '100'),
    mark(vault, midnight + 20, '101', { positions: [position('p')] }),
  ])
  let [isAnnounced, isSent] = [false, false]
  const recorded = readingBy(database, (read, values, signal, reader) => {
    isSent ||= read.isLong === true
    return reader.read(read, values, signal)
  })
  const executor = createExecutor({
    schema,
    limits: defaultQueryLimits,
    runConsistently: createConsistentReads(recorded),
    admission: {
      run: async (work, { hasLongReads }) => {
        isAnnounced = hasLongReads === true
        return work()
      },
      runPreparation: async (work) => work(),
      pause: () => Promise.resolve(),
    },
  })
  return async (query: string): Promise<{ isAnnounced: boolean; isSent: boolean; result: ExecutionResult }> => {
    const requestContext = { report: String, sender: 'one' }
    isSent = false
    const result = await executor.run(await executor.prepare(query, requestContext), {}, requestContext)
    return { isAnnounced, isSent, result }
  }
}

let run: Awaited<ReturnType<typeof recording>>

beforeAll(async () => {
  run = await recording()
})

test.each([...lists, ...Object.entries(others)])(
  'admission control knows whether an operation sends long reads: %s',
  async (_, query) => {
    const { isAnnounced, isSent, result } = await run(query)
    expect(result.errors).toBeUndefined()
    expect(isAnnounced).toBe(isSent)
  },
)

test('both occur among these', async () => {
  expect(await run(others['a vault'])).toMatchObject({ isAnnounced: false })
  expect(await run(others['a series'])).toMatchObject({ isAnnounced: true })
})
