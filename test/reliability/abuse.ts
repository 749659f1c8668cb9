import type { Homes } from '../support/home.ts'
import type { Attack } from './attacks/attacks.ts'
import { type AttackOptions, runAttacks } from './attacks/run.ts'
import { type FloodOptions, floodWithExpensiveQueries } from './expensive-query-flood.ts'
import { fillLargeWorld, largeWorldAddresses } from './large-world.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'

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
  readonly flood: Pick<FloodOptions, 'shapes' | 'only' | 'limits'>
  readonly attacks: readonly Attack[]
  readonly limitsFor: AttackOptions['limitsFor']
  readonly addresses?: AttackOptions['addresses']
  /** Processes that answer; one unless said. */
  readonly workers?: number | undefined
  readonly reportProgress: ReportProgress
}

/** Asks for the dearest queries that the bounds let through, then carries out attacks, and times honest clients meanwhile. */
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
  reportProgress('making the world')
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
