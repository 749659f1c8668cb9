import { parseArgs } from 'node:util'
import { defaultSize, type WorldSize } from './world.ts'

/** Options of `npm run bench`. */
export interface SpeedOptions {
  /** Address of a PostgreSQL server on which databases may be created. */
  readonly server: string
  readonly size: WorldSize
  /** Size of PGlite's world: a tenth of the vaults and a fiftieth of the long series, since PGlite takes longer to fill. */
  readonly pgliteSize: WorldSize
  readonly rounds: number
  /** Duration of one measurement. */
  readonly seconds: number
  readonly connections: number
  /** Targets to leave out: postgraphile, pglite. */
  readonly without: ReadonlySet<string>
  /** Whether to use the database that an earlier run has kept, if there is one, and to keep it for the next. */
  readonly isKept: boolean
  /** Whether all options that affect the measurements have their defaults: the results of such a run are written to the README. */
  readonly hasDefaults: boolean
}

const defaults: Readonly<Record<string, number>> = {
  vaults: defaultSize.vaults,
  'long-series': defaultSize.longSeries,
  'long-points': defaultSize.longPoints,
  'middle-points': defaultSize.middlePoints,
  points: defaultSize.points,
  'ledger-rows': defaultSize.ledgerRows,
  rounds: 5,
  seconds: 2,
  connections: 32,
}

const usage = `npm run bench -- [options]
  BENCH_DATABASE_URL  postgres://user:password@host:port/postgres, of a server on which it may create databases
  ${Object.entries(defaults)
    .map(([name, value]) => `--${name} ${value}`)
    .join('\n  ')}
  --without postgraphile,pglite
  --keep  keep the world for the next run, and use the one that an earlier run has kept`

/**
 * Parses the command line.
 * @param server value of BENCH_DATABASE_URL
 * @returns the options; for `--help` or an error, the text to print
 */
export function readOptions(args: readonly string[], server: string | undefined): SpeedOptions | string {
  const numbers = Object.fromEntries(Object.keys(defaults).map((name) => [name, { type: 'string' as const }]))
  const options = {
    ...numbers,
    without: { type: 'string' as const },
    keep: { type: 'boolean' as const },
    help: { type: 'boolean' as const },
  }
  let values: Readonly<Record<string, unknown>>
  try {
    values = parseArgs({ args: [...args], options }).values
  } catch (error) {
    return `${(error as Error).message}\n\n${usage}`
  }
  if (values['help'] === true) return usage
  const invalid = Object.keys(defaults).find((name) => !(Number(values[name] ?? defaults[name]) > 0))
  if (invalid !== undefined) return `--${invalid} is ${String(values[invalid])}, not a number above 0\n\n${usage}`
  if (server === undefined || server === '') {
    return `The benchmark needs PostgreSQL: set BENCH_DATABASE_URL to the address of a server.\n\n${usage}`
  }
  const number = (name: string): number => Number(values[name] ?? defaults[name])
  const size: WorldSize = {
    vaults: number('vaults'),
    longSeries: number('long-series'),
    longPoints: number('long-points'),
    middlePoints: number('middle-points'),
    points: number('points'),
    ledgerRows: number('ledger-rows'),
  }
  const measuring = Object.keys(values).filter((name) => name !== 'keep')
  return {
    server,
    size,
    pgliteSize: { ...size, vaults: Math.ceil(size.vaults / 10), longSeries: Math.ceil(size.longSeries / 50) },
    rounds: number('rounds'),
    seconds: number('seconds'),
    connections: number('connections'),
    without: new Set(typeof values['without'] === 'string' ? values['without'].split(',') : []),
    isKept: values['keep'] === true,
    hasDefaults: measuring.length === 0,
  }
}
