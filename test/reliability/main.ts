/**
 * The shows of what the gateway bears, at any size:
 *   npm run reliability -- fuzz|kill|faults|soak|abuse [--size N] [--seed N] [--engine pglite|postgresql]
 * Each prints its figures on each engine that it is about, and ends with 1 where its claim doesn't hold.
 */
import { parseArgs } from 'node:util'
import { type Homes, openHomes } from '../support/home.ts'
import { startOwnPostgreSql } from '../support/own-postgresql.ts'
import { abuse } from './abuse.ts'
import { faults } from './faults.ts'
import { fuzz } from './fuzz.ts'
import { kill } from './kill.ts'
import { soak } from './soak.ts'
import { type Finding, inLines, type Say } from './show.ts'

interface Run {
  readonly homes: Homes
  readonly size: number
  readonly seed: number
  readonly say: Say
}

interface Show {
  /** What its size counts. */
  readonly unit: string
  readonly size: number
  readonly engines: readonly Engine[]
  run(options: Run): Promise<Finding>
}

const engines = ['pglite', 'postgresql'] as const
type Engine = (typeof engines)[number]

const shows: Readonly<Record<string, Show>> = {
  fuzz: { unit: 'requests', size: 100_000, engines, run: ({ size, ...rest }) => fuzz({ ...rest, requests: size }) },
  kill: {
    unit: 'kills',
    size: 100,
    engines,
    run: ({ size, seed, ...rest }) => kill({ ...rest, kills: size, offset: (seed % 1_000) / 1_000 }),
  },
  faults: {
    unit: 'faults',
    size: 10,
    engines: ['postgresql'],
    run: ({ size, say }) => faults({ say, faults: size, frozenSeconds: 12 }),
  },
  soak: { unit: 'minutes', size: 10, engines, run: ({ homes, size, say }) => soak({ homes, say, minutes: size }) },
  abuse: {
    unit: 'points of the long series',
    size: 200_000,
    engines,
    run: ({ homes, size, say }) => abuse({ homes, say, points: size, seconds: 10, shapes: Infinity, mostP99: 250 }),
  },
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { size: { type: 'string' }, seed: { type: 'string' }, engine: { type: 'string' } },
})
const show = shows[positionals[0] ?? '']
if (show === undefined || positionals.length > 1) {
  console.error(`Name one of ${Object.keys(shows).join(', ')}.`)
  process.exitCode = 2
} else {
  const size = Number(values.size ?? show.size)
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  for (const engine of show.engines.filter((each) => values.engine === undefined || each === values.engine)) {
    console.log(`${positionals[0] ?? ''}, ${size} ${show.unit}, on ${engine}`)
    const finding = await runOn(engine, show, { size, seed })
    console.log(inLines(finding))
    if (finding.flaws.length > 0) process.exitCode = 1
  }
}

async function runOn(engine: Engine, { run }: Show, sizes: { size: number; seed: number }): Promise<Finding> {
  const server = engine === 'postgresql' ? await startOwnPostgreSql() : null
  try {
    const homes = await openHomes(server?.url)
    try {
      return await run({ ...sizes, homes, say: progress })
    } finally {
      await homes.remove()
    }
  } finally {
    await server?.remove()
  }
}

/** On a terminal, a line that is written over. */
function progress(message: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${message}\u001b[K`)
}
