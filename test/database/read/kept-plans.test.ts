import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Reader, Statement, Value } from '../../../src/database/database.ts'
import { readEquity } from '../../../src/database/read/equity.ts'
import { countLedger, readLedger, readLedgerRows } from '../../../src/database/read/ledger.ts'
import { readVaultPerformance } from '../../../src/database/read/past/performance.ts'
import { readMarkStates } from '../../../src/database/read/past/positions-at.ts'
import { readVaultsAt } from '../../../src/database/read/past/vault-at.ts'
import { readStrategies, readStrategyPairs } from '../../../src/database/read/strategy.ts'
import { countVaults } from '../../../src/database/read/vault-lists/count.ts'
import { allStrategies, anyVault } from '../../../src/database/read/vault-lists/filter.ts'
import { vaultOrders, type VaultOrderName } from '../../../src/database/read/vault-lists/order.ts'
import { readVaultPages } from '../../../src/database/read/vault-lists/page.ts'
import { readPositions, readVaults } from '../../../src/database/read/vault.ts'
import type { EventType } from '../../../src/domain/ledger.ts'
import { createDatabase, type TestDatabase } from '../../support/database.ts'
import { everything, vaultThatIs } from '../../support/everything.ts'
import { apply, midnight } from '../../support/world.ts'

const vaults = Object.values(vaultThatIs)
const ever = { since: 0, until: midnight * 2 }
const ledgerPage = (types: readonly EventType[] | null) => ({ ...ever, types, first: 10, after: null })
const vaultPage = (orderBy: VaultOrderName) => ({
  filter: anyVault,
  orderBy,
  direction: 'DESC' as const,
  first: 5,
  after: null,
})

/** Reads by keys, which concurrent requests are batched to. */
const reads: Record<string, (reader: Reader) => Promise<unknown>> = {
  vaults: (reader) => readVaults(reader, vaults),
  positions: (reader) => readPositions(reader, vaults),
  'equity points': (reader) => readEquity(reader, vaults, ever, 100),
  'equity points by another curve': (reader) => readEquity(reader, vaults, ever, 100, 'strategy'),
  ledgers: (reader) => readLedger(reader, vaults, ledgerPage(null)),
  'ledgers of one type': (reader) => readLedger(reader, vaults, ledgerPage(['deposit'])),
  'ledgers of some types': (reader) => readLedger(reader, vaults, ledgerPage(['deposit', 'withdraw'])),
  'totals of ledgers': (reader) => countLedger(reader, vaults, { ...ever, types: null }),
  'ledger rows by key': (reader) =>
    readLedgerRows(reader, [{ vault: vaults[0] as string, txHash: `0x${'a'.repeat(64)}`, logIndex: 1 }]),
  'past vaults': (reader) => readVaultsAt(reader, vaults, midnight),
  'states of marks': (reader) => readMarkStates(reader, vaults, midnight),
  'days of vaults': (reader) => readVaultPerformance(reader, vaults, { firstDay: 0, lastDay: 100_000 }),
  strategies: (reader) => readStrategies(reader, ['seasoned', 'fresh']),
  'pairs of strategies': (reader) => readStrategyPairs(reader, ['seasoned', 'fresh']),
  ...Object.fromEntries(
    (Object.keys(vaultOrders) as VaultOrderName[]).flatMap((orderBy) => [
      [`all by ${orderBy}`, (reader: Reader) => readVaultPages(reader, [allStrategies], vaultPage(orderBy))],
      [`by ${orderBy} for strategies`, (reader: Reader) => readVaultPages(reader, ['fresh'], vaultPage(orderBy))],
    ]),
  ),
  'totals of lists': (reader) => countVaults(reader, [allStrategies], anyVault),
  'totals of lists for strategies': (reader) => countVaults(reader, ['seasoned', 'fresh'], anyVault),
}

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
  await apply(database, everything)
})
afterAll(() => database.close())

test.each(Object.keys(reads))(
  '%s are read by a plan that is kept: making one takes longer than the read',
  async (name) => {
    const sent: [Statement, readonly Value[]][] = []
    const recording: Reader = { query: (read, values) => (sent.push([read, values]), Promise.resolve([])) }
    await reads[name]?.(recording)
    expect(sent).not.toHaveLength(0)
    for (const [{ text }, values] of sent) expect(await keptPlans(text, values)).toBeGreaterThan(0)
  },
)

/** Executes a statement until the server has decided, and returns how often it used a plan that it had made before. */
function keptPlans(text: string, values: readonly Value[]): Promise<number | undefined> {
  const parameters = values.length === 0 ? '' : `(${values.map(literal).join(', ')})`
  return database.prisma.$transaction(async (transaction) => {
    await transaction.$executeRawUnsafe(`prepare tried as ${text}`)
    for (let time = 0; time < 8; time++) await transaction.$executeRawUnsafe(`execute tried ${parameters}`)
    const [plans] = await transaction.$queryRawUnsafe<{ kept: number }[]>(
      `select generic_plans::integer as kept from pg_prepared_statements where name = 'tried'`,
    )
    await transaction.$executeRawUnsafe('deallocate tried')
    return plans?.kept
  })
}

function literal(value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'object') return pg.escapeLiteral(`{${value.map((one) => JSON.stringify(one)).join(',')}}`)
  return pg.escapeLiteral(String(value))
}
