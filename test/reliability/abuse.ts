import type { Homes } from '../support/home.ts'
import type { Attack } from './attacks/attacks.ts'
import { type AttackOptions, runAttacks } from './attacks/run.ts'
import { floodWithDearQueries, type FloodOptions } from './dear-flood.ts'
import { addressesOf, fillLargeWorld } from './large-world.ts'
import type { Finding, Say } from './show.ts'

export interface AbuseOptions {
  readonly homes: Homes
  /** Points of the long series. */
  readonly points: number
  /** Rows of the long ledger. */
  readonly ledgerRows: number
  /** Days of each vault and strategy before the first point. */
  readonly days: number
  /** How long each shape is asked for. */
  readonly seconds: number
  /** How many of the dearest queries are asked for, and what is held of the snapshots meanwhile. */
  readonly flood: Pick<FloodOptions, 'shapes' | 'only' | 'bounds'>
  readonly attacks: readonly Attack[]
  readonly boundsOf: AttackOptions['boundsOf']
  readonly addresses?: AttackOptions['addresses']
  /** Processes that answer; one unless said. */
  readonly workers?: number | undefined
  readonly say: Say
}

/** Asks for the dearest queries that the bounds let through, then carries out attacks, and times honest clients meanwhile. */
export async function abuse(options: AbuseOptions): Promise<Finding> {
  const { homes, points, ledgerRows, days, seconds, flood, attacks, boundsOf, addresses, workers = 1, say } = options
  const world = { points, longVaults: 10, shortVaults: 190, ledgerRows, days }
  const home = await homes.create()
  const database = await home.open()
  say('making the world')
  await fillLargeWorld(database, world)
  await database.close()
  const target = addressesOf(world)
  const env = { ...home.env, ...(workers > 1 && { WORKERS: String(workers) }) }
  const flooded = flood.shapes === 0 ? nothing : await floodWithDearQueries({ env, ...target, seconds, ...flood, say })
  const attacked = await runAttacks({ env, target, attacks, seconds, boundsOf, addresses, say })
  return {
    figures: { ...flooded.figures, ...attacked.figures },
    flaws: [...flooded.flaws, ...attacked.flaws],
  }
}

const nothing: Finding = { figures: {}, flaws: [] }
