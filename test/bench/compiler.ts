/**
 * Compares the gateway's compiler of operations with graphql-jit and graphql-js on the operations W1 to W6:
 *   npm run bench:compiler [-- --rounds N]
 * Results of reads are cached, so that only execution and serialization are measured: CPU time per operation, from a
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
import { fillLargeWorld, largeWorldAddresses } from '../reliability/large-world.ts'
import { median } from './median.ts'
import { workloads } from './speed/workloads.ts'

/** Executes an operation, and returns its result as JSON. */
type Execute = (context: ResolverContext) => Promise<string>

/** An implementation of GraphQL execution. */
interface ExecutionEngine {
  readonly name: string
  /** Prepares an operation; returns null if the engine cannot compile the document. */
  prepare(query: string, variables: Readonly<Record<string, unknown>>): Execute | null
}

const world = { points: 600, longVaults: 1, shortVaults: 60, ledgerRows: 600, days: 0 }
const roundMilliseconds = 300

const ownCompiler: ExecutionEngine = {
  name: 'own compiler',
  prepare(query, variables) {
    const operation = new OperationCache(schema, defaultQueryLimits).prepare(query, 'sender').select(null)
    const { coerced } = operation === undefined ? {} : operation.coerce(variables)
    const compiled = coerced === undefined ? null : operation?.compiledFor(coerced)
    if (compiled == null || compiled === 'no place' || coerced === undefined) return null
    return async (context) => `{"data":${(await compiled.write(undefined, context, coerced, Infinity)).text}}`
  },
}

const graphqlJit: ExecutionEngine = {
  name: 'graphql-jit',
  prepare(query, variables) {
    const document = parse(query)
    const compiled = compileQuery(schema, document)
    if (!isCompiledQuery(compiled)) return null
    // graphql-jit rejects a missing variable of a non-null type even if it has a default.
    const all = { ...defaultsIn(document), ...variables }
    return async (context) => resultText(await compiled.query(undefined, context, all))
  },
}

/** Returns the default values of integer variables. */
function defaultsIn(document: DocumentNode): Record<string, number> {
  const defaults: Record<string, number> = {}
  visit(document, {
    VariableDefinition: ({ variable, defaultValue }) => {
      if (defaultValue?.kind === Kind.INT) defaults[variable.name.value] = Number(defaultValue.value)
    },
  })
  return defaults
}

const graphqlJs: ExecutionEngine = {
  name: 'graphql-js',
  prepare(query, variableValues) {
    const document = parse(query)
    return async (contextValue) => resultText(await execute({ schema, document, variableValues, contextValue }))
  },
}

const engines = [ownCompiler, graphqlJit, graphqlJs]
const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '9' } } })
const rounds = Number(options.rounds)
const database = await openPGlite()
await migrate(database)
await fillLargeWorld(database, world)
const reader = cachingReader(database)
const [address = ''] = largeWorldAddresses(world).longSeriesVaults

console.log(['', ...engines.map(({ name }) => name)].join(' | '))
for (const { name, ways } of workloads) {
  const { query, variables = {} } = JSON.parse(ways.graphql(address).body ?? '{}') as {
    query: string
    variables?: Record<string, unknown>
  }
  const executions = engines.map((engine) => engine.prepare(query, variables))
  const [expected, ...texts] = await Promise.all(executions.flatMap((execute) => execute?.(createContext()) ?? []))
  if (texts.some((text) => text !== expected)) throw new Error(`The results of ${name} differ`)
  const times = engines.map((): number[] => [])
  for (let round = 0; round <= rounds; round++) {
    for (const [at, execute] of executions.entries()) {
      times[at]?.push(execute === null ? Number.NaN : await cpuMicroseconds(execute))
    }
  }
  const medians = times.map((each) => median(each.slice(1)))
  const base = medians[0] ?? Number.NaN
  const columns = medians.map((each) => `${each.toFixed(0)} us (${(each / base).toFixed(2)})`)
  console.log([name, ...columns].join(' | '))
}
await database.close()

/** Executes an operation repeatedly, and returns its mean CPU time. */
async function cpuMicroseconds(execute: Execute): Promise<number> {
  const begun = process.cpuUsage()
  const until = performance.now() + roundMilliseconds
  let count = 0
  while (performance.now() < until) {
    await execute(createContext())
    count++
  }
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / count
}

function createContext(): ResolverContext {
  const requestContext = { report: () => 'bench', sender: 'bench' }
  return new OperationReader(reader, requestContext, {}).context
}

/** Returns a reader that sends each statement with equal values only once. */
function cachingReader(from: VersionedReader): VersionedReader {
  const results = new Map<string, Promise<unknown>>()
  return {
    read: (read, values) => {
      const key = `${read.name} ${JSON.stringify(values)}`
      const result = results.get(key) ?? from.read(read, values)
      results.set(key, result)
      return result as Promise<never>
    },
  }
}
