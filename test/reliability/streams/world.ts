import type { Database } from '../../../src/database/database.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { addressOf, apply, deposit, event, mark, midnight, opened, position, strategy } from '../../support/world.ts'

const vaults = Array.from({ length: 150 }, (_, index) => addressOf(index + 1))
/** Vaults that attackers follow, and vaults that only honest clients follow. */
const attacked = vaults.slice(0, 130)
const honest = vaults.slice(130)

/** Data that changes while streams follow it. */
export interface StreamWorld {
  /** Vaults that attackers follow. */
  readonly vaults: readonly string[]
  /** Vaults that honest clients follow. */
  readonly honest: readonly string[]
  /** Data version of the first commit. */
  readonly oldest: string
  /** Commits a mark of each vault and ledger rows; returns the value in USD of the marks, which is unique. */
  commit(): Promise<number>
}

/**
 * Creates the vaults.
 * @param ledgerRows number of ledger rows
 */
export async function createStreamWorld(database: Database, ledgerRows: number): Promise<StreamWorld> {
  let ts = midnight
  await apply(database, [strategy('one'), ...vaults.flatMap((vault) => [opened(vault, 'one', ++ts)])])
  await apply(
    database,
    vaults.map((vault) => deposit(vault, ++ts, '1000')),
  )
  const [first] = await database.query<{ version: string }>(
    { name: 'first_commit', text: 'select version from commit_log order by seq limit 1' },
    [],
  )
  const plant = (at: number): FactInput =>
    event(attacked[at % attacked.length] ?? '', ++ts, { type: 'plant', positionId: 'p' })
  for (let rows = 0; rows < ledgerRows; rows += 1_000)
    await apply(
      database,
      Array.from({ length: 1_000 }, (_, at) => plant(at)),
    )
  let commits = 0
  return {
    vaults: attacked,
    honest,
    oldest: first?.version ?? '',
    async commit() {
      const valueUsd = 2_000 + ++commits / 100
      const facts = vaults.map((vault) => mark(vault, ++ts, valueUsd.toFixed(2), { positions: [position('p')] }))
      await apply(database, [...facts, plant(commits), plant(commits + 1)])
      return Number(valueUsd.toFixed(2))
    },
  }
}
