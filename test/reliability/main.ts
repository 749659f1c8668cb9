/**
 * The shows of what the gateway bears, at any size:
 *   npm run reliability -- fuzz|kill|faults|failover|soak|abuse|versions|torn|live|streams|unread|edge|cluster|cluster-reads [--size N] [--seed N] [--engine pglite|postgresql]
 *   npm run reliability -- kill|faults [--jobs N]
 *   npm run reliability -- cluster [--kills N] [--loss kill|crash|switchover] [--lease SECONDS]
 *   npm run reliability -- abuse [--ledger ROWS] [--seconds N] [--workers N] [--only NAME] [--list] [--verbose]
 * `--only` carries out the attacks whose name holds NAME, of expensive queries too, and may be given several times; `--list` names them all. Each prints its figures on each engine that it is about, and ends with 1 where its claim doesn't hold.
 */
import { parseArgs } from 'node:util'
import { maxPerformanceDays } from '../../src/domain/figures/performance.ts'
import { type Homes, openHomes } from '../support/home.ts'
import { type Loss, losses } from '../support/cluster.ts'
import { startOwnPostgreSql } from '../support/own-postgresql.ts'
import { abuse } from './abuse.ts'
import { attacks } from './attacks/attacks.ts'
import type { AttackBounds } from './attacks/run.ts'
import { cluster } from './cluster.ts'
import { clusterReads } from './cluster-reads.ts'
import { edge } from './edge.ts'
import { failover } from './failover.ts'
import { faults } from './faults.ts'
import { fuzz } from './fuzz.ts'
import { kill } from './kill.ts'
import { live } from './live.ts'
import { soak } from './soak.ts'
import { stepMilliseconds, torn } from './torn.ts'
import { type Finding, inLines, type Say } from './show.ts'
import { streams } from './streams.ts'
import { unread } from './unread.ts'
import { versions } from './versions.ts'

interface Run {
  readonly engine: Engine
  readonly homes: Homes
  readonly size: number
  readonly seed: number
  readonly say: Say
}

interface Show {
  /** Unit of its size. */
  readonly unit: string
  readonly size: number
  readonly engines: readonly Engine[]
  run(options: Run): Promise<Finding>
}

/** Limits on the effects of an attack: PGlite reads in the gateway's own process. */
const attackBounds: Readonly<Record<Engine, AttackBounds>> = {
  postgresql: { health: 250, snapshots: 250, queries: 1_000, memory: 50e6, memoryOf: 'rssBytes' },
  pglite: { health: 500, snapshots: 500, queries: 1_000, memory: 50e6, memoryOf: 'rssBytes' },
}

const engines = ['pglite', 'postgresql'] as const
type Engine = (typeof engines)[number]

const shows: Readonly<Record<string, Show>> = {
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
    run: ({ size, say }) => faults({ say, jobs, faults: size, frozenSeconds: 12 }),
  },
  failover: {
    unit: 'failovers',
    size: 10,
    engines: ['postgresql'],
    run: ({ size, say }) => failover({ say, failovers: size, points: 15_000 * size }),
  },
  soak: { unit: 'minutes', size: 10, engines, run: ({ homes, size, say }) => soak({ homes, say, minutes: size }) },
  versions: {
    unit: 'answers',
    size: 100_000,
    engines,
    run: ({ homes, size, say, engine }) =>
      versions({ homes, say, answers: size, workers: engine === 'postgresql' ? 2 : 1 }),
  },
  abuse: {
    unit: 'points of the long series',
    size: 200_000,
    engines,
    run: ({ homes, size, say, engine }) =>
      abuse({
        homes,
        say,
        points: size,
        ledgerRows: Number(values.ledger),
        days: maxPerformanceDays,
        seconds: Number(values.seconds),
        flood: { shapes: Infinity, only: chosen, bounds: attackBounds[engine] },
        attacks: attacks.filter(({ name }) => chosen?.some((each) => name.includes(each)) ?? true),
        boundsOf: () => ({ ...attackBounds[engine], memory: attackBounds[engine].memory * Number(values.workers) }),
        addresses: values['same-address'] ? 'same' : values['own-addresses'] ? 'own' : undefined,
        workers: Number(values.workers),
      }),
  },
  live: {
    unit: 'clients',
    size: 100,
    engines: ['postgresql'],
    run: ({ size, say }) =>
      live({ say, clients: size, gatewayKills: 20, databaseKills: 5, failovers: 1, cutMilliseconds: 2_000 }),
  },
  streams: {
    unit: 'addresses of attackers',
    size: 200,
    engines: ['postgresql'],
    run: ({ homes, size, say }) =>
      streams({
        homes,
        say,
        addresses: size,
        only: chosen,
        seconds: Number(values.seconds),
        ledgerRows: 20_000,
        bounds: { health: 250, snapshots: 250, pushes: 1_000, memory: 250e6 },
      }),
  },
  unread: {
    unit: 'clients',
    size: 100,
    engines: ['postgresql'],
    run: ({ homes, size, say }) => unread({ homes, say, clients: size, maxBytes: 20e6 * Math.max(1, size / 100) }),
  },
  edge: {
    unit: 'seconds',
    size: 60,
    engines: ['postgresql'],
    run: ({ homes, size, say }) => edge({ homes, say, seconds: size, vaults: 10, edgeSeconds: 5 }),
  },
  cluster: {
    unit: 'points',
    size: 150_000,
    engines: ['postgresql'],
    run: ({ homes, size, say }) =>
      cluster({ homes, say, points: size, losses: chosenLosses(), leaseSeconds: Number(values.lease) }),
  },
  'cluster-reads': {
    unit: 'requests',
    size: 20_000,
    engines: ['postgresql'],
    run: ({ size, say }) => clusterReads({ requests: size, say }),
  },
  torn: {
    unit: 'answers, cached and as many not cached',
    size: 100_000,
    engines,
    run: ({ homes, size, say, engine }) =>
      torn({ homes, say, answers: size, stepMilliseconds: stepMilliseconds[engine] }),
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
const chosen = values.only
const jobs = Number(values.jobs)
const show = shows[positionals[0] ?? '']
if (values.list) {
  for (const { name, fault } of attacks) console.log(`${name.padEnd(34)} ${fault}`)
} else if (show === undefined || positionals.length > 1) {
  console.error(`Name one of ${Object.keys(shows).join(', ')}.`)
  process.exitCode = 2
} else {
  const size = Number(values.size ?? show.size)
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  for (const engine of show.engines.filter((each) => values.engine === undefined || each === values.engine)) {
    console.log(`${positionals[0] ?? ''}, ${size} ${show.unit}, on ${engine}`)
    const finding = await runOn(engine, show, { engine, size, seed })
    console.log(inLines(finding))
    if (finding.flaws.length > 0) process.exitCode = 1
  }
}

async function runOn(engine: Engine, { run }: Show, options: Omit<Run, 'homes' | 'say'>): Promise<Finding> {
  const server = engine === 'postgresql' ? await startOwnPostgreSql() : null
  try {
    const homes = await openHomes(server?.url)
    try {
      return await run({ ...options, homes, say: progress })
    } finally {
      await homes.remove()
    }
  } finally {
    await server?.remove()
  }
}

/** The ways in which the leader is lost, in turn. */
function chosenLosses(): Loss[] {
  const ways = losses.filter((loss) => values.loss?.includes(loss) ?? true)
  if (ways.length === 0) throw new Error(`--loss is none of ${losses.join(', ')}`)
  return Array.from({ length: Number(values.kills) }, (_, index) => ways[index % ways.length] ?? 'kill')
}

/** On a terminal, a line that is written over, unless all are to be seen. */
function progress(message: string): void {
  if (values.verbose) return void process.stderr.write(`${message}\n`)
  if (process.stderr.isTTY) process.stderr.write(`\r${message}\u001b[K`)
}
