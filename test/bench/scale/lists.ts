import type { Database } from '../../../src/database/database.ts'
import { countLedger } from '../../../src/database/read/ledger.ts'
import { countVaults } from '../../../src/database/read/vault-lists/count.ts'
import { allStrategies, anyVault, type VaultFilter } from '../../../src/database/read/vault-lists/filter.ts'
import { type VaultOrderName, vaultOrders } from '../../../src/database/read/vault-lists/order.ts'
import { readVaultPages } from '../../../src/database/read/vault-lists/page.ts'
import { vaultAddress, worldEnd } from '../speed/world.ts'

const rounds = 15
const pageLength = 50
const filters: Readonly<Record<string, VaultFilter>> = {
  'no filter': anyVault,
  'rare status': { ...anyVault, status: ['suspended'] },
  'status of no vault': { ...anyVault, status: ['exiting'] },
  strategy: { ...anyVault, strategy: ['strategy-1'] },
  'strategy, status': { ...anyVault, strategy: ['strategy-1'], status: ['attention'] },
  value: { ...anyVault, valueUsd: { gte: '100500', lte: '600000' } },
  'rare value': { ...anyVault, valueUsd: { gte: '100500', lte: '100600' } },
  venue: { ...anyVault, venue: ['uniswap-v3'] },
  'pair of no vault': { ...anyVault, pair: [{ a: 'USDC', b: 'WETH' }] },
  'pair, strategy': { ...anyVault, pair: [{ a: 'WETH', b: 'USDC' }], strategy: ['strategy-1'] },
  owner: { ...anyVault, owner: [vaultAddress(900_001)] },
}

/** Milliseconds of reads by their name. */
export type Times = ReadonlyMap<string, number>

/** Times the first page of all vaults in each order with each filter. */
export function timePages(database: Database): Promise<Times> {
  const orders = Object.keys(vaultOrders) as VaultOrderName[]
  const reads = Object.entries(filters).flatMap(([name, filter]) =>
    orders.map((orderBy): [string, () => Promise<unknown>] => [
      `by ${orderBy}, ${name}`,
      () =>
        readVaultPages(database, [allStrategies], {
          filter,
          orderBy,
          direction: 'DESC',
          first: pageLength,
          after: null,
        }),
    ]),
  )
  return timeAll(reads)
}

/** Times the count of vaults with each filter. */
export function timeVaultCounts(database: Database): Promise<Times> {
  return timeAll(
    Object.entries(filters).map(([name, filter]) => [name, () => countVaults(database, [allStrategies], filter)]),
  )
}

/** Times counts of a vault's ledger: of all rows, and of those of one type in a range of time. */
export function timeLedgerCounts(database: Database, vault: string): Promise<Times> {
  const allTime = { types: null, since: 0, until: worldEnd + 1 }
  const window = { types: ['fee'] as const, since: worldEnd - 20 * 86_400, until: worldEnd - 86_400 }
  return timeAll([
    ['all', () => countLedger(database, [vault], allTime)],
    ['of one type in a range of time', () => countLedger(database, [vault], window)],
  ])
}

/** Times each read in several rounds, and returns its minimum: other work of the machine can only increase a time. */
async function timeAll(reads: readonly [string, () => Promise<unknown>][]): Promise<Times> {
  const times = new Map<string, number>()
  for (let round = 0; round < rounds; round++) {
    for (const [name, read] of reads) {
      const begun = performance.now()
      await read()
      times.set(name, Math.min(performance.now() - begun, times.get(name) ?? Infinity))
    }
  }
  return times
}

/** Returns the read with the largest ratio of its times in the two worlds. */
export function largestGrowth(small: Times, large: Times): { readonly name: string; readonly ratio: number } {
  const ratios = Array.from(large, ([name, time]) => ({ name, ratio: time / (small.get(name) ?? NaN) }))
  return ratios.toSorted((one, other) => other.ratio - one.ratio)[0] ?? { name: 'none', ratio: NaN }
}
