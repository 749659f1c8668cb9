import type { Database } from '../../../src/database/database.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { addressOf, apply, deposit, event, mark, midnight, opened, position, strategy } from '../../support/world.ts'

const vaults = Array.from({ length: 150 }, (_, index) => addressOf(index + 1))
/** Vaults that attackers follow too, and those of honest clients alone. */
const attacked = vaults.slice(0, 130)
const honest = vaults.slice(130)

/** A world that changes under streams. */
export interface StreamWorld {
  /** Vaults that attackers follow. */
  readonly vaults: readonly string[]
  /** Vaults that honest clients follow. */
  readonly honest: readonly string[]
  /** The data version of the first commit. */
  readonly oldest: string
  /** Writes one commit; returns the value of each honest vault that it marks. */
  commit(): Promise<number>
}

/** @param ledgerRows rows that are there before */
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
