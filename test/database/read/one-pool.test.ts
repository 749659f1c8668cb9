import { afterAll, beforeAll, expect, test } from 'vitest'
import { countVaults } from '../../../src/database/read/vault-lists/count.ts'
import { allStrategies, anyVault, type VaultFilter } from '../../../src/database/read/vault-lists/filter.ts'
import { readVaultPages } from '../../../src/database/read/vault-lists/page.ts'
import { maxPools } from '../../../src/limits.ts'
import { createDatabase, runScript, type TestDatabase } from '../../support/database.ts'
import { explainReads } from '../../support/explain.ts'
import { addressOf, apply, opened, strategy } from '../../support/world.ts'

const count = 6_000
const pool = { a: 'WETH', b: 'USDC', venue: 'here' }

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
  await apply(database, [strategy('one'), opened(addressOf(1), 'one')])
  await runScript(
    database,
    `insert into vault select (jsonb_populate_record(vault, jsonb_build_object(
        'id', vault.id + number, 'address', '0x' || left(md5(number::text) || md5('more'), 40)))).*
      from vault, generate_series(1, ${count - 1}) as number`,
  )
  await runScript(
    database,
    `insert into vault_pool (vault_id, a, b, venue) select id, '${pool.a}', '${pool.b}', '${pool.venue}' from vault`,
  )
  await runScript(database, 'analyze')
})

afterAll(() => database.close())

/** The maximum number of pairs and venues of a filter, with no pair at any of the venues. */
const absent = (pairs: readonly { a: string; b: string }[], venues: readonly string[]): VaultFilter => ({
  ...anyVault,
  pair: pairs,
  venue: venues,
})
const others = Array.from({ length: maxPools }, (_, at) => `X${at}`)
const filters: readonly [string, VaultFilter][] = [
  [
    'absent pairs at the venue of all',
    absent(
      others.map((a) => ({ a, b: pool.b })),
      [pool.venue, ...others.slice(1)],
    ),
  ],
  ['the pair of all at absent venues', absent([pool, ...others.slice(1).map((a) => ({ a, b: pool.b }))], others)],
]

// Each pair at each venue is one descent in an index of two or three levels.
const most = 5 * maxPools * maxPools

test.each(filters)(
  'where all vaults have one pool, %s are looked up without a walk through an index',
  async (_, filter) => {
    const page = { filter, orderBy: 'NET_USD', direction: 'DESC', first: 20, after: null } as const
    const listed = await explainReads(database, (counted) => readVaultPages(counted, [allStrategies], page))
    expect(listed.rows).toBeLessThan(2 * count)
    const counting = await explainReads(database, (counted) => countVaults(counted, [allStrategies], filter))
    expect(counting.pages).toBeLessThan(most)
    expect(await readVaultPages(database, [allStrategies], page)).toEqual([])
  },
)

test('a pair at its venue is found', async () => {
  const filter = { ...anyVault, pair: [pool], venue: [pool.venue] }
  expect(await countVaults(database, [allStrategies], filter)).toMatchObject([{ list: allStrategies, count }])
})
