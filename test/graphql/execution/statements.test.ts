import { beforeEach, describe, expect, test } from 'vitest'
import { toAddress } from '../../../src/domain/address.ts'
import { ledgerRowGlobalId, positionGlobalId } from '../../../src/domain/identity/global-id.ts'
import { demoFacts } from '../../../src/feed/demo/demo.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { gatewayOn } from '../../support/gateway.ts'
import { apply, deposit, event, mark, midnight, opened, position, strategy } from '../../support/world.ts'

const nested = `
  address strategy { name pairs { a } } positions { id }
  equity(points: 10) { ts netUsd changeUsd } events(first: 5) { nodes { type } }`

/** One statement each for the list or vault, strategies, pairs, positions, equity and ledger. */
const statements = 6

describe('the number of statements', () => {
  let database: TestDatabase

  beforeEach(async () => {
    database = await emptyDatabase()
    const addresses = Array.from({ length: 50 }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '0')}`)
    await apply(database, [
      strategy('one'),
      strategy('two'),
      ...addresses.flatMap((address, index) => [
        opened(address, index % 2 === 0 ? 'one' : 'two'),
        deposit(address, midnight + 10, '100'),
        mark(address, midnight + 20, '101', { positions: [position('p')] }),
      ]),
    ])
    database.takeStatements()
  })

  test('is the same for 50 vaults, nested, as for one', async () => {
    const { query } = gatewayOn(database)
    const one = await query<{ vaults: { nodes: unknown[] } }>(`{ vaults(first: 1) { nodes { ${nested} } } }`)
    expect(one.vaults.nodes).toHaveLength(1)
    expect(database.takeStatements()).toHaveLength(statements)

    const all = await query<{ vaults: { nodes: unknown[] } }>(`{ vaults(first: 50) { nodes { ${nested} } } }`)
    expect(all.vaults.nodes).toHaveLength(50)
    expect(database.takeStatements()).toHaveLength(statements)
  })

  test('is the same for a vault by its address', async () => {
    const { query } = gatewayOn(database)
    await query(`{ vault(address: "0x${'1'.padStart(40, '0')}") { ${nested} } }`)
    expect(database.takeStatements()).toHaveLength(statements)
  })

  test('is one for the vaults of all strategies, and one for their counts', async () => {
    const { query } = gatewayOn(database)
    await query('{ strategies { vaults(first: 5) { totalCount nodes { address } } } }')
    expect(database.takeStatements()).toEqual([
      'strategies',
      'vault_page_VALUE_USD_DESC_of_strategy',
      'vault_count_of_strategy',
    ])
  })

  describe('for objects by their ids', () => {
    const addresses = Array.from({ length: 40 }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '0')}`)
    const checksummed = addresses.map(toAddress)
    const deposited = event(addresses[0] ?? '', midnight + 10, { type: 'resume' })
    const { txHash, logIndex } = deposited as { txHash: string; logIndex: number }
    const ids = {
      vaults_by_address: checksummed,
      strategies_by_id: ['one', 'two', 'unknown'],
      positions_by_vault: checksummed.map((address) => positionGlobalId(address, 'p')),
      ledger_rows_by_key: checksummed.map((address) => ledgerRowGlobalId(address, txHash, logIndex)),
    }
    type Found = { nodes: ({ id: string } | null)[] }
    const nodes = (wanted: readonly string[], selection = 'id'): Promise<Found> =>
      gatewayOn(database).query(`query ($ids: [ID!]!) { nodes(ids: $ids) { ${selection} } }`, { ids: wanted })

    test.each(Object.entries(ids))('of one type is one, %s', async (statement, wanted) => {
      const { nodes: found } = await nodes(wanted)
      expect(found.map((node) => node?.id ?? 'unknown')).toEqual(wanted)
      expect(database.takeStatements()).toEqual([statement])
    })

    test('of all types is one for each type', async () => {
      const wanted = Object.values(ids).flat()
      const { nodes: found } = await nodes(wanted)
      expect(found.map((node) => node?.id ?? 'unknown')).toEqual(wanted)
      expect(database.takeStatements().sort()).toEqual(Object.keys(ids).sort())
    })

    test('is the same by node under aliases', async () => {
      const wanted = checksummed.map((address, index) => `a${index}: node(id: "${address}/position/p") { id }`)
      await gatewayOn(database).query(`{ ${wanted.join(' ')} }`)
      expect(database.takeStatements()).toEqual(['positions_by_vault'])
    })

    test('is the same for their nested objects as for lists', async () => {
      await nodes(checksummed, `... on Vault { ${nested} }`)
      expect(database.takeStatements()).toHaveLength(statements)
    })

    test('is zero for impossible ids', async () => {
      await nodes(['', `0x${'aB'.repeat(20)}`, `${checksummed[0] ?? ''}/`])
      expect(database.takeStatements()).toEqual([])
    })
  })

  test.each([
    ['snapshot', 2],
    ['equity', 2],
    ['events', 2],
  ])('is told for the path %s', async (path, count) => {
    await gatewayOn(database).get(`/vault/0x${'1'.padStart(40, '0')}/${path}`)
    expect(database.takeStatements()).toHaveLength(count)
  })

  test.each([
    ['/strategies', 2],
    ['/universe', 1],
    ['/universe/pairs', 1],
  ])('is told for the path %s', async (path, count) => {
    await gatewayOn(database).get(path)
    expect(database.takeStatements()).toHaveLength(count)
  })
})

test('the demo world has a vault in each status', async () => {
  const database = await emptyDatabase()
  const facts = demoFacts(midnight)
  expect(
    await apply(
      database,
      facts.map((fact) => JSON.stringify(fact)),
    ),
  ).toMatchObject({ skipped: {}, rejected: {} })
  const { vaults } = await gatewayOn(database).query<{ vaults: { nodes: { status: string }[] } }>(
    '{ vaults { nodes { status } } }',
  )
  const statuses = vaults.nodes.map(({ status }) => status).sort()
  expect(statuses).toEqual(['ATTENTION', 'EARNING', 'EXITING', 'IDLE', 'PLANTING', 'SUSPENDED'])
})
