import { type DocumentNode, execute, type GraphQLError, Kind, parse, validate } from 'graphql'
import { runPlan } from './compiled.ts'
import { type Context, type ContextOf, forget, type Making } from './context.ts'
import { publicError } from './failures.ts'
import { measure } from './measure.ts'
import { type Part, type Plan, planOf } from './plan.ts'
import { schema } from './schema.ts'
import type { Turns } from './turns.ts'

/** A part of what one of the gateway's own documents, of one operation each, asks for. */
export interface Wanted extends Part {
  readonly document: { toString(): string }
}

export interface Executed {
  /** JSON text of the part that is wanted; null where there is none. */
  readonly part: string | null
  /** JSON text of the data without it. */
  readonly rest: string
  readonly errors?: readonly GraphQLError[]
}

/** Runs one of the gateway's own documents, in process. */
export type ExecuteDocument = (wanted: Wanted, variables: Record<string, unknown>, making: Making) => Promise<Executed>

export interface ExecutorOptions {
  readonly contextOf: ContextOf
  readonly turns: Turns
}

/**
 * An executor. A document is parsed, validated and planned when it first runs, once. Each is plain: it is short, and has
 * one list at most whose length can be chosen.
 */
export function createExecutor({ contextOf, turns }: ExecutorOptions): ExecuteDocument {
  const prepared = new WeakMap<Wanted, Prepared>()
  return (wanted, variables, making) => {
    const known = prepared.get(wanted) ?? prepare(wanted)
    prepared.set(wanted, known)
    const work = (): Promise<Executed> => run(known, variables, contextOf(making), making)
    return turns.plain(work, { cost: known.costOf(variables), signal: making.signal })
  }
}

async function run(
  { document, plan }: Prepared,
  variableValues: Record<string, unknown>,
  contextValue: Context,
  { report }: Making,
): Promise<Executed> {
  const args = { schema, document, variableValues, contextValue }
  try {
    const written = await runPlan(plan, args)
    if (written !== null) return { part: written.part, rest: written.text }
    // What a failure means for the answer, graphql-js tells: what loaders have failed to read stays so in its context.
    const { errors } = await execute(args)
    if (errors === undefined)
      throw new Error('an operation has failed as it was planned, and not as graphql-js runs it')
    return { part: null, rest: 'null', errors: errors.map((error) => publicError(error, report)) }
  } finally {
    forget(contextValue)
  }
}

interface Prepared {
  readonly document: DocumentNode
  readonly plan: Plan
  readonly costOf: (variables: Record<string, unknown>) => number
}

function prepare({ document: source, ...part }: Wanted): Prepared {
  const document = parse(source.toString())
  const [error] = validate(schema, document)
  if (error !== undefined) throw error
  const operation = document.definitions.find((node) => node.kind === Kind.OPERATION_DEFINITION)
  const plan = operation === undefined ? null : planOf(schema, document, operation, part)
  if (plan === null) throw new Error(`there is no plan for ${source.toString()}`)
  return { document, plan, costOf: costsOf(document) }
}

const anyAddress = '0x0000000000000000000000000000000000000000'

/** By the length of its list, which the cost goes with: to measure it each time would take longer than a short read. */
function costsOf(document: DocumentNode): Prepared['costOf'] {
  const costAt = (variables: object): number =>
    measure({ schema, document, variables: { address: anyAddress, ...variables } }).cost
  const usual = costAt({})
  const [one, two] = [costAt({ first: 1, points: 1 }), costAt({ first: 2, points: 2 })]
  return ({ first, points }) => {
    const length = first ?? points
    return typeof length === 'number' && length > 0 ? one + (length - 1) * (two - one) : usual
  }
}
