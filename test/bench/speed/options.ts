import { parseArgs } from 'node:util'
import { statedSize, type WorldSize } from './world.ts'

export interface Options {
  /** Address of the PostgreSQL server. */
  readonly server: string
  readonly size: WorldSize
  /** The embedded database's world: a tenth of the vaults and one in fifty of the long series, since it takes longer to fill. */
  readonly pgliteSize: WorldSize
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  /** Contestants that are left out: postgraphile, pglite. */
  readonly without: ReadonlySet<string>
  /** Whether the world stays for the next run, and one that stayed serves this one. */
  readonly isKept: boolean
  /** Whether this is the run whose figures the README tells. */
  readonly isStated: boolean
}

const defaults: Readonly<Record<string, number>> = {
  vaults: statedSize.vaults,
  'long-series': statedSize.longSeries,
  'long-points': statedSize.longPoints,
  'middle-points': statedSize.middlePoints,
  points: statedSize.points,
  'ledger-rows': statedSize.ledgerRows,
  rounds: 5,
  seconds: 2,
  connections: 32,
}

const usage = `npm run bench -- [options]
  BENCH_DATABASE_URL  postgres://user:password@host:port/postgres, of a server where it may create a database
  ${Object.entries(defaults)
    .map(([name, value]) => `--${name} ${value}`)
    .join('\n  ')}
  --without postgraphile,pglite
  --keep  leave the world for the next run, and use the one that was left`

/** @returns what to do, or what is wrong with what was asked for */
export function readOptions(args: readonly string[], server: string | undefined): Options | string {
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
  const wrong = Object.keys(defaults).find((name) => !(Number(values[name] ?? defaults[name]) > 0))
  if (wrong !== undefined) return `--${wrong} is ${String(values[wrong])}, not a number above 0\n\n${usage}`
  if (server === undefined || server === '') {
    return `The bench needs a PostgreSQL: set BENCH_DATABASE_URL to the address of a server.\n\n${usage}`
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
    isStated: measuring.length === 0,
  }
}
