/**
 * Compares the gateway's own compiler of operations with graphql-jit and with graphql-js, on the operations W1 to W6:
 *   npm run bench:compiler [-- --rounds N]
 * Reads are answered from memory, so that only execution and serialization are measured: CPU time of one operation, from a
 * prepared document and coerced variables to JSON text, as medians of interleaved rounds.
 */
import { parseArgs } from 'node:util'
import { type DocumentNode, execute, Kind, parse, visit } from 'graphql'
import { compileQuery, isCompiledQuery } from 'graphql-jit'
import type { VersionedReader } from '../../src/database/database.ts'
import { openPGlite } from '../../src/database/pglite/database.ts'
import { migrate } from '../../src/database/prisma/migrations.ts'
import { resultText } from '../../src/graphql/execution/compiler/json-text.ts'
import { OperationReader } from '../../src/graphql/execution/consistent-reads.ts'
import type { ResolverContext } from '../../src/graphql/execution/context.ts'
import { OperationCache } from '../../src/graphql/execution/operation-cache.ts'
import { schema } from '../../src/graphql/schema/schema.ts'
import { defaultQueryLimits } from '../../src/limits.ts'
import { addressesOf, fillLargeWorld } from '../reliability/large-world.ts'
import { workloads } from './speed/workloads.ts'

/** Runs an operation and serializes its result. */
type Run = (context: ResolverContext) => Promise<string>

interface Contestant {
  readonly name: string
  /** @returns null where it cannot compile the document */
  prepare(query: string, variables: Readonly<Record<string, unknown>>): Run | null
}

const world = { points: 600, longVaults: 1, shortVaults: 60, ledgerRows: 600, days: 0 }
const roundMilliseconds = 300

const own: Contestant = {
  name: 'own compiler',
  prepare(query, variables) {
    const operation = new OperationCache(schema, defaultQueryLimits).prepare(query).select(null)
    const { coerced } = operation === undefined ? {} : operation.coerce(variables)
    const compiled = coerced === undefined ? null : operation?.compiledFor(coerced)
    if (compiled == null || coerced === undefined) return null
    return async (context) => `{"data":${(await compiled.write(undefined, context, coerced, Infinity)).text}}`
  },
}

const jit: Contestant = {
  name: 'graphql-jit',
  prepare(query, variables) {
    const document = parse(query)
    const compiled = compileQuery(schema, document)
    if (!isCompiledQuery(compiled)) return null
    // It rejects a variable of a non-null type that is not sent, also where the variable has a default.
    const all = { ...defaultsIn(document), ...variables }
    return async (context) => resultText(await compiled.query(undefined, context, all))
  },
}

/** Default values of variables that are integers. */
function defaultsIn(document: DocumentNode): Record<string, number> {
  const defaults: Record<string, number> = {}
  visit(document, {
    VariableDefinition: ({ variable, defaultValue }) => {
      if (defaultValue?.kind === Kind.INT) defaults[variable.name.value] = Number(defaultValue.value)
    },
  })
  return defaults
}

const graphqlJs: Contestant = {
  name: 'graphql-js',
  prepare(query, variableValues) {
    const document = parse(query)
    return async (contextValue) => resultText(await execute({ schema, document, variableValues, contextValue }))
  },
}

const contestants = [own, jit, graphqlJs]
const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '9' } } })
const rounds = Number(options.rounds)
const database = await openPGlite()
await migrate(database)
await fillLargeWorld(database, world)
const reader = remembering(database)
const [address = ''] = addressesOf(world).long

console.log(['', ...contestants.map(({ name }) => name)].join(' | '))
for (const { name, ways } of workloads) {
  const { query, variables = {} } = JSON.parse(ways.graphql(address).body ?? '{}') as {
    query: string
    variables?: Record<string, unknown>
  }
  const runs = contestants.map((contestant) => contestant.prepare(query, variables))
  const [expected, ...texts] = await Promise.all(runs.flatMap((run) => run?.(contextFor()) ?? []))
  if (texts.some((text) => text !== expected)) throw new Error(`${name} is answered in different ways`)
  const times = contestants.map((): number[] => [])
  for (let round = 0; round <= rounds; round++) {
    for (const [at, run] of runs.entries()) times[at]?.push(run === null ? Number.NaN : await microsecondsOf(run))
  }
  const medians = times.map((each) => median(each.slice(1)))
  const base = medians[0] ?? Number.NaN
  const told = medians.map((each) => `${each.toFixed(0)} us (${(each / base).toFixed(2)})`)
  console.log([name, ...told].join(' | '))
}
await database.close()

async function microsecondsOf(run: Run): Promise<number> {
  const begun = process.cpuUsage()
  const until = performance.now() + roundMilliseconds
  let count = 0
  while (performance.now() < until) {
    await run(contextFor())
    count++
  }
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / count
}

function contextFor(): ResolverContext {
  const requestContext = { report: () => 'bench', sender: 'bench' }
  return new OperationReader(reader, requestContext, {}).context
}

/** A reader that reads each statement with equal values once. */
function remembering(from: VersionedReader): VersionedReader {
  const known = new Map<string, Promise<unknown>>()
  return {
    read: (read, values) => {
      const key = `${read.name} ${JSON.stringify(values)}`
      const result = known.get(key) ?? from.read(read, values)
      known.set(key, result)
      return result as Promise<never>
    },
  }
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
