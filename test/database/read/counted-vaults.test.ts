import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { countVaults } from '../../../src/database/read/vault-lists/count.ts'
import { allStrategies, anyVault, type VaultFilter } from '../../../src/database/read/vault-lists/filter.ts'
import { readVaultPages } from '../../../src/database/read/vault-lists/page.ts'
import { maxCountedVaults } from '../../../src/limits.ts'
import { fillVaultTallies } from '../../bench/speed/world.ts'
import { createDatabase, runScript, type TestDatabase } from '../../support/database.ts'
import { explainReads } from '../../support/explain.ts'
import { gatewayOn } from '../../support/gateway.ts'
import { addressOf, apply, opened, strategy } from '../../support/world.ts'

/** One more than the limit of counts; the value of each is its number. There is another one without value. */
const count = maxCountedVaults + 1
const large = addressOf(900_000)
const common = { a: 'WETH', b: 'USDC' }
/** A pair of all vaults except one. */
const fewer = { a: 'WBTC', b: 'USDC' }

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
  await apply(database, [strategy('one'), strategy('other'), opened(addressOf(1), 'one')])
  await runScript(
    database,
    `insert into vault select (jsonb_populate_record(vault, jsonb_build_object(
        'id', vault.id + number, 'address', '0x' || left(md5(number::text) || md5('more'), 40), 'status', 'earning',
        'owner', '${large}', 'value_usd', number, 'capital_in_usd', number, 'position_count', 1))).*
      from vault, generate_series(1, ${count}) as number;
    insert into vault_pool (vault_id, a, b, venue) select id, '${common.a}', '${common.b}', 'here' from vault where value_usd > 0;
    insert into vault_pool (vault_id, a, b, venue) select id, '${fewer.a}', '${fewer.b}', 'here' from vault where value_usd > 1;
    delete from strategy_tally; delete from owner_tally`,
  )
  await fillVaultTallies((sql) => runScript(database, sql))
})

afterAll(() => database.close())

const all = { valueUsd: { gte: '1', lte: null } }
const allButOne = { valueUsd: { gte: '2', lte: null } }

/** Filters by their index: of each two, one visits all vaults, the other all except one. */
const lookUps: Record<string, readonly [tooMany: Partial<VaultFilter>, counted: Partial<VaultFilter>]> = {
  'value of all': [all, allButOne],
  'value of a strategy': [
    { ...all, strategy: ['one'] },
    { ...allButOne, strategy: ['one'] },
  ],
  'pair alone': [{ pair: [common] }, { pair: [fewer] }],
  'pair and value': [
    { pair: [common], valueUsd: { gte: '9000', lte: null } },
    { pair: [fewer], ...all },
  ],
}

describe.each(Object.entries(lookUps))('vaults by %s', (_, [tooMany, counted]) => {
  const counting = (filter: Partial<VaultFilter>) => countVaults(database, [allStrategies], { ...anyVault, ...filter })

  test('are counted up to the limit', async () => {
    expect(await counting(counted)).toMatchObject([{ count: maxCountedVaults }])
  })

  test('are not counted beyond it, but listed', async () => {
    expect(await counting(tooMany)).toMatchObject([{ count: null }])
    const page = { orderBy: 'VALUE_USD', direction: 'DESC', first: 1, after: null } as const
    const rows = await readVaultPages(database, [allStrategies], { ...page, filter: { ...anyVault, ...tooMany } })
    expect(rows[0]).toMatchObject({ orderValue: expect.stringMatching(`^${count}\\b`) as unknown })
  })
})

test('vaults of a large owner by value are not counted beyond the limit of those that are visited', async () => {
  const filter = { ...anyVault, owner: [large], valueUsd: { gte: '9000', lte: null } }
  expect(await countVaults(database, [allStrategies], filter)).toMatchObject([{ count: null }])
})

test('a list that is too long to count does not affect the count of another one', async () => {
  const gateway = gatewayOn(database)
  const counted = (id: string): string =>
    `strategy(id: "${id}") { vaults(where: { valueUsd: { gte: "0" } }) { totalCount } }`
  const response = await gateway.post(`{ one: ${counted('one')} other: ${counted('other')} }`)
  const { data, errors } = (await response.json()) as { data: unknown; errors: readonly { message: string }[] }
  expect(data).toEqual({ one: null, other: { vaults: { totalCount: 0 } } })
  expect(errors.map(({ message }) => message)).toEqual([
    expect.stringContaining(`more than ${maxCountedVaults} vaults have`),
  ])
})

test('a count by value visits a limited number of vaults in all ranges of strategies and statuses together', async () => {
  await runScript(
    database,
    `insert into vault select (jsonb_populate_record(vault, jsonb_build_object(
        'id', id + 100000, 'address', '0x' || left(md5(id::text) || md5('other'), 40), 'strategy_id', 'other'))).*
      from vault where value_usd > 0;
    analyze vault`,
  )
  const filter: VaultFilter = { ...anyVault, ...all, strategy: ['one', 'other'] }
  const work = await explainReads(database, (counting) => countVaults(counting, [allStrategies], filter))
  expect(work.rows).toBeLessThan(maxCountedVaults + 200)
})
