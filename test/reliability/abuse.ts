import type { Homes } from '../support/home.ts'
import type { Attack } from './attacks/attacks.ts'
import { type AttackOptions, runAttacks } from './attacks/run.ts'
import { type FloodOptions, floodWithExpensiveQueries } from './expensive-query-flood.ts'
import { fillLargeWorld, largeWorldAddresses } from './large-world.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'

/** Options of the program `abuse`. */
export interface AbuseOptions {
  readonly homes: Homes
  /** Points of each long series. */
  readonly points: number
  /** Rows of the long ledger. */
  readonly ledgerRows: number
  /** Days of each vault and strategy before the first point. */
  readonly days: number
  /** Duration of each flood of queries, and of each attack. */
  readonly seconds: number
  /** Number and names of the expensive queries, and the limits on honest clients. */
  readonly flood: Pick<FloodOptions, 'shapes' | 'only' | 'limits'>
  readonly attacks: readonly Attack[]
  readonly limitsFor: AttackOptions['limitsFor']
  readonly addresses?: AttackOptions['addresses']
  /** Number of worker processes; 1 by default. */
  readonly workers?: number | undefined
  readonly reportProgress: ReportProgress
}

/**
 * Sends the most expensive queries within the limits, then runs attacks, and measures honest clients at the same time.
 */
export async function abuse(options: AbuseOptions): Promise<ProgramResult> {
  const {
    homes,
    points,
    ledgerRows,
    days,
    seconds,
    flood,
    attacks,
    limitsFor,
    addresses,
    workers = 1,
    reportProgress,
  } = options
  const world = { points, longVaults: 10, shortVaults: 190, ledgerRows, days }
  const home = await homes.create()
  const database = await home.open()
  reportProgress('creating the data')
  await fillLargeWorld(database, world)
  await database.close()
  const target = largeWorldAddresses(world)
  const env = { ...home.env, ...(workers > 1 && { WORKERS: String(workers) }) }
  const floodResult =
    flood.shapes === 0
      ? emptyResult
      : await floodWithExpensiveQueries({ env, ...target, seconds, ...flood, reportProgress })
  const attackResult = await runAttacks({ env, target, attacks, seconds, limitsFor, addresses, reportProgress })
  return {
    measurements: { ...floodResult.measurements, ...attackResult.measurements },
    violations: [...floodResult.violations, ...attackResult.violations],
  }
}

const emptyResult: ProgramResult = { measurements: {}, violations: [] }
