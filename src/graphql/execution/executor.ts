import { type DocumentNode, execute, type GraphQLError, type OperationDefinitionNode, parse, validate } from 'graphql'
import type { AdmissionControl } from './admission-control.ts'
import { runCompiled } from './compiler/compiler.ts'
import type { Context, RequestContext } from './context.ts'
import type { InOneMoment } from './snapshot-consistency.ts'
import { publicError } from './errors.ts'
import { queryCost } from './query-cost.ts'
import { coerceVariables, operationOf } from './operation.ts'
import { type Part, type CompiledOperation, compileOperation } from './compiler/compile-operation.ts'
import { schema } from '../schema/schema.ts'

/** A part of what one of the gateway's own documents, of one operation each, asks for. */
export interface ExecutionRequest extends Part {
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
export type ExecuteDocument = (
  wanted: ExecutionRequest,
  variables: Record<string, unknown>,
  making: RequestContext,
) => Promise<Executed>

export interface ExecutorOptions {
  readonly inOneMoment: InOneMoment
  readonly admission: AdmissionControl
}

/**
 * An executor. A document is parsed, validated and planned when it first runs, once. Each is cheap: it is short, and has
 * one list at most whose length can be chosen.
 */
export function createExecutor({ inOneMoment, admission }: ExecutorOptions): ExecuteDocument {
  const prepared = new WeakMap<ExecutionRequest, Prepared>()
  return (wanted, variables, making) => {
    const known = prepared.get(wanted) ?? prepare(wanted)
    prepared.set(wanted, known)
    const work = async (): Promise<Executed> => {
      const { errors, ...data } = await inOneMoment(making, (context) => run(known, variables, context))
      return { ...data, ...(errors && { errors: errors.map((error) => publicError(error, making.report)) }) }
    }
    return admission.cheap(work, { cost: known.costOf(variables), sender: making.sender, signal: making.signal })
  }
}

async function run(
  { document, plan }: Prepared,
  variableValues: Record<string, unknown>,
  contextValue: Context,
): Promise<Executed> {
  const args = { schema, document, variableValues, contextValue }
  const { coerced } = coerceVariables(schema, plan.operation, variableValues)
  const written = coerced === undefined ? null : await runCompiled(plan, args, coerced)
  if (written !== null) return { part: written.part, rest: written.text }
  // What a failure means for the answer, graphql-js tells: what loaders have failed to read stays so in its context.
  const { errors } = await execute(args)
  if (errors === undefined) throw new Error('an operation has failed as it was planned, and not as graphql-js runs it')
  return { part: null, rest: 'null', errors }
}

interface Prepared {
  readonly document: DocumentNode
  readonly plan: CompiledOperation
  readonly costOf: (variables: Record<string, unknown>) => number
}

function prepare({ document: source, ...part }: ExecutionRequest): Prepared {
  const document = parse(source.toString())
  const [error] = validate(schema, document)
  if (error !== undefined) throw error
  const operation = operationOf(document, null)
  const plan = operation && compileOperation(schema, document, operation, part)
  if (plan == null) throw new Error(`there is no plan for ${source.toString()}`)
  return { document, plan, costOf: costsOf(document, plan.operation) }
}

const anyAddress = '0x0000000000000000000000000000000000000000'

/** By the length of its list, which the cost goes with: to measure it each time would take longer than a short read. */
function costsOf(document: DocumentNode, operation: OperationDefinitionNode): Prepared['costOf'] {
  const costAt = (given: object): number => {
    const { coerced = {} } = coerceVariables(schema, operation, { address: anyAddress, ...given })
    return queryCost({ schema, document, operation, variables: coerced }).cost
  }
  const usual = costAt({})
  const [one, two] = [costAt({ first: 1, points: 1 }), costAt({ first: 2, points: 2 })]
  return ({ first, points }) => {
    const length = first ?? points
    return typeof length === 'number' && length > 0 ? one + (length - 1) * (two - one) : usual
  }
}
