/**
 * Command line of the reliability programs (README.md):
 *   npm run reliability -- fuzz|kill|faults|rotation|failover|soak|abuse|versions|torn|live|streams|unread|edge|cluster|cluster-reads [--size N] [--seed N] [--engine pglite|postgresql]
 *   npm run reliability -- kill|faults [--jobs N]
 *   npm run reliability -- cluster [--kills N] [--loss kill|crash|switchover] [--lease SECONDS]
 *   npm run reliability -- abuse [--ledger ROWS] [--seconds N] [--workers N] [--only NAME] [--list] [--verbose]
 * `--only` selects the attacks and expensive queries whose names contain NAME, and may be repeated; `--list` lists the
 * attacks. Each program prints its measurements on each of its engines; the exit status is 1 if a claim does not hold.
 */
import { parseArgs } from 'node:util'
import { maxPerformanceDays } from '../../src/domain/figures/performance.ts'
import { type Loss, losses } from '../support/cluster.ts'
import { type Homes, openHomes } from '../support/home.ts'
import { startOwnPostgreSql } from '../support/own-postgresql.ts'
import { abuse } from './abuse.ts'
import { attacks } from './attacks/attacks.ts'
import type { AttackLimits } from './attacks/run.ts'
import { cluster } from './cluster.ts'
import { clusterReads } from './cluster-reads.ts'
import { edge } from './edge.ts'
import { failover } from './failover.ts'
import { faults } from './faults.ts'
import { fuzz } from './fuzz.ts'
import { kill } from './kill.ts'
import { live } from './live.ts'
import { formatResult, type ProgramResult, type ReportProgress } from './program-result.ts'
import { rotation } from './rotation.ts'
import { soak } from './soak.ts'
import { streams } from './streams.ts'
import { markIntervalMilliseconds, torn } from './torn.ts'
import { unread } from './unread.ts'
import { versions } from './versions.ts'

/** Options of a run of a program on one engine. */
interface ProgramOptions {
  readonly engine: Engine
  readonly homes: Homes
  readonly size: number
  readonly seed: number
  readonly reportProgress: ReportProgress
}

/** A program, with the default of its size. */
interface Program {
  /** Unit of `--size`. */
  readonly unit: string
  /** Default of `--size`. */
  readonly size: number
  readonly engines: readonly Engine[]
  run(options: ProgramOptions): Promise<ProgramResult>
}

/** Limits of `abuse` by engine; PGlite's are higher, since it runs in the process of the gateway. */
const attackLimits: Readonly<Record<Engine, AttackLimits>> = {
  postgresql: {
    healthMilliseconds: 250,
    snapshotMilliseconds: 250,
    newQueryMilliseconds: 1_000,
    memoryBytes: 50e6,
    memoryOf: 'rssBytes',
  },
  pglite: {
    healthMilliseconds: 500,
    snapshotMilliseconds: 500,
    newQueryMilliseconds: 1_000,
    memoryBytes: 50e6,
    memoryOf: 'rssBytes',
  },
}

const engines = ['pglite', 'postgresql'] as const
type Engine = (typeof engines)[number]

const programs: Readonly<Record<string, Program>> = {
  fuzz: { unit: 'requests', size: 100_000, engines, run: ({ size, ...rest }) => fuzz({ ...rest, requests: size }) },
  kill: {
    unit: 'kills',
    size: 100,
    engines,
    run: ({ size, seed, ...rest }) => kill({ ...rest, jobs, kills: size, offset: (seed % 1_000) / 1_000 }),
  },
  faults: {
    unit: 'faults',
    size: 10,
    engines: ['postgresql'],
    run: ({ size, reportProgress }) => faults({ reportProgress, jobs, faults: size, frozenSeconds: 12 }),
  },
  failover: {
    unit: 'failovers',
    size: 10,
    engines: ['postgresql'],
    run: ({ size, reportProgress }) => failover({ reportProgress, failovers: size, points: 15_000 * size }),
  },
  rotation: {
    unit: 'feeds',
    size: 200,
    engines,
    run: ({ homes, size, seed, reportProgress }) => rotation({ homes, reportProgress, feeds: size, seed }),
  },
  soak: {
    unit: 'minutes',
    size: 10,
    engines,
    run: ({ homes, size, reportProgress }) => soak({ homes, reportProgress, minutes: size }),
  },
  versions: {
    unit: 'responses',
    size: 100_000,
    engines,
    run: ({ homes, size, reportProgress, engine }) =>
      versions({ homes, reportProgress, responses: size, workers: engine === 'postgresql' ? 2 : 1 }),
  },
  abuse: {
    unit: 'points of each long series',
    size: 200_000,
    engines,
    run: ({ homes, size, reportProgress, engine }) =>
      abuse({
        homes,
        reportProgress,
        points: size,
        ledgerRows: Number(values.ledger),
        days: maxPerformanceDays,
        seconds: Number(values.seconds),
        flood: { shapes: Infinity, only: selectedNames, limits: attackLimits[engine] },
        attacks: attacks.filter(({ name }) => selectedNames?.some((each) => name.includes(each)) ?? true),
        limitsFor: () => ({
          ...attackLimits[engine],
          memoryBytes: attackLimits[engine].memoryBytes * Number(values.workers),
        }),
        addresses: values['same-address'] ? 'same' : values['own-addresses'] ? 'own' : undefined,
        workers: Number(values.workers),
      }),
  },
  live: {
    unit: 'clients',
    size: 100,
    engines: ['postgresql'],
    run: ({ size, reportProgress }) =>
      live({ reportProgress, clients: size, gatewayKills: 20, databaseKills: 5, failovers: 1, cutMilliseconds: 2_000 }),
  },
  streams: {
    unit: 'attacker addresses',
    size: 200,
    engines: ['postgresql'],
    run: ({ homes, size, reportProgress }) =>
      streams({
        homes,
        reportProgress,
        addresses: size,
        only: selectedNames,
        seconds: Number(values.seconds),
        ledgerRows: 20_000,
        limits: { health: 250, snapshots: 250, pushes: 1_000, memory: 250e6 },
      }),
  },
  unread: {
    unit: 'clients',
    size: 100,
    engines: ['postgresql'],
    run: ({ homes, size, reportProgress }) =>
      unread({ homes, reportProgress, clients: size, maxBytes: 20e6 * Math.max(1, size / 100) }),
  },
  edge: {
    unit: 'seconds',
    size: 60,
    engines: ['postgresql'],
    run: ({ homes, size, reportProgress }) =>
      edge({ homes, reportProgress, seconds: size, vaults: 10, edgeSeconds: 5 }),
  },
  cluster: {
    unit: 'points',
    size: 150_000,
    engines: ['postgresql'],
    run: ({ homes, size, reportProgress }) =>
      cluster({ homes, reportProgress, points: size, losses: selectedLosses(), leaseSeconds: Number(values.lease) }),
  },
  'cluster-reads': {
    unit: 'requests',
    size: 20_000,
    engines: ['postgresql'],
    run: ({ size, reportProgress }) => clusterReads({ requests: size, reportProgress }),
  },
  torn: {
    unit: 'responses, each cached and uncached',
    size: 100_000,
    engines,
    run: ({ homes, size, reportProgress, engine }) =>
      torn({ homes, reportProgress, responses: size, markIntervalMilliseconds: markIntervalMilliseconds[engine] }),
  },
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    size: { type: 'string' },
    seed: { type: 'string' },
    engine: { type: 'string' },
    jobs: { type: 'string', default: '1' },
    kills: { type: 'string', default: '10' },
    loss: { type: 'string', multiple: true },
    lease: { type: 'string', default: '20' },
    ledger: { type: 'string', default: '300000' },
    seconds: { type: 'string', default: '10' },
    workers: { type: 'string', default: '1' },
    'same-address': { type: 'boolean', default: false },
    'own-addresses': { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    list: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
})
const selectedNames = values.only
const jobs = Number(values.jobs)
const program = programs[positionals[0] ?? '']
if (values.list) {
  for (const { name, category } of attacks) console.log(`${name.padEnd(34)} ${category}`)
} else if (program === undefined || positionals.length > 1) {
  console.error(`Usage: npm run reliability -- PROGRAM. Programs: ${Object.keys(programs).join(', ')}.`)
  process.exitCode = 2
} else {
  const size = Number(values.size ?? program.size)
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  for (const engine of program.engines.filter((each) => values.engine === undefined || each === values.engine)) {
    console.log(`${positionals[0] ?? ''}, ${size} ${program.unit}, on ${engine}`)
    const result = await runOnEngine(engine, program, { engine, size, seed })
    console.log(formatResult(result))
    if (result.violations.length > 0) process.exitCode = 1
  }
}

/** Runs a program with databases of an engine, which are removed afterwards. */
async function runOnEngine(
  engine: Engine,
  { run }: Program,
  options: Omit<ProgramOptions, 'homes' | 'reportProgress'>,
): Promise<ProgramResult> {
  const server = engine === 'postgresql' ? await startOwnPostgreSql() : null
  try {
    const homes = await openHomes(server?.url)
    try {
      return await run({ ...options, homes, reportProgress: printProgress })
    } finally {
      await homes.remove()
    }
  } finally {
    await server?.remove()
  }
}

/** Returns the way of each loss of the leader: those of `--loss` in turn, or all. */
function selectedLosses(): Loss[] {
  const selected = losses.filter((loss) => values.loss?.includes(loss) ?? true)
  if (selected.length === 0) throw new Error(`--loss must be one of ${losses.join(', ')}`)
  return Array.from({ length: Number(values.kills) }, (_, index) => selected[index % selected.length] ?? 'kill')
}

/** Prints progress to stderr: each message with `--verbose`, otherwise one line of a terminal, which is overwritten. */
function printProgress(message: string): void {
  if (values.verbose) return void process.stderr.write(`${message}\n`)
  if (process.stderr.isTTY) process.stderr.write(`\r${message}\u001b[K`)
}
