import { execute, type ExecutionArgs, type GraphQLError, Kind, parse, validate } from 'graphql'
import { runPlan } from './compiled.ts'
import type { ContextOf, Making } from './context.ts'
import { publicError } from './failures.ts'
import { type Part, type Plan, planOf } from './plan.ts'
import { schema } from './schema.ts'

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

/** An executor. A document is parsed, validated and planned when it first runs, once. */
export function createExecutor(contextOf: ContextOf): ExecuteDocument {
  const prepared = new WeakMap<Wanted, Prepared>()
  return async (wanted, variables, making) => {
    const known = prepared.get(wanted) ?? prepare(wanted)
    prepared.set(wanted, known)
    const { plan, document } = known
    const args = { schema, document, variableValues: variables, contextValue: contextOf(making) }
    try {
      const written = await runPlan(plan, args)
      if (written !== null) return { part: written.part, rest: written.text }
    } catch {
      // What it means for the answer, graphql-js tells.
    }
    return failed(args, making)
  }
}

/** What graphql-js says of a failure: what loaders have failed to read stays so in its context. */
async function failed(args: ExecutionArgs, { report }: Making): Promise<Executed> {
  const { errors } = await execute(args)
  if (errors === undefined) throw new Error('an operation has failed as it was planned, and not as graphql-js runs it')
  return { part: null, rest: 'null', errors: errors.map((error) => publicError(error, report)) }
}

interface Prepared {
  readonly document: ExecutionArgs['document']
  readonly plan: Plan
}

function prepare({ document: source, ...part }: Wanted): Prepared {
  const document = parse(source.toString())
  const [error] = validate(schema, document)
  if (error !== undefined) throw error
  const operation = document.definitions.find((node) => node.kind === Kind.OPERATION_DEFINITION)
  const plan = operation === undefined ? null : planOf(schema, document, operation, part)
  if (plan === null) throw new Error(`there is no plan for ${source.toString()}`)
  return { document, plan }
}
