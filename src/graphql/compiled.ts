import {
  type DocumentNode,
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  getVariableValues,
  type GraphQLSchema,
  Kind,
} from 'graphql'
import { JsonText } from './json-text.ts'
import { type Plan, planOf, type Written } from './plan.ts'

/** What is known of an operation; no plan where it can't be planned. */
interface Known {
  readonly plan: Plan | null
}

const plans = new WeakMap<DocumentNode, Map<string, Known>>()

/**
 * Executes a valid document as graphql-js does, and faster where it was executed before: what depends on the document
 * alone is worked out once, and the data is written as `JsonText`. Whatever isn't plain success, and documents that can't
 * be planned, graphql-js executes: what it makes of them is GraphQL's own semantics of nulls, errors and their order. What
 * loaders have read or failed to read is there then already.
 */
export async function executeCompiled(args: ExecutionArgs): Promise<ExecutionResult> {
  const { schema, document, operationName } = args
  const { plan } = knownOperation(schema, document, operationName)
  const written = plan && (await runPlan(plan, args))
  if (written === null) return execute(args)
  return { data: new JsonText(written.text) as object as Record<string, unknown> }
}

/** Null where it fails. */
export async function runPlan(
  { operation, run }: Plan,
  { schema, rootValue, contextValue, variableValues }: ExecutionArgs,
): Promise<Written | null> {
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues ?? {})
  if (coerced === undefined) return null
  try {
    return await run(rootValue, contextValue, coerced)
  } catch {
    return null
  }
}

function knownOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): Known {
  const ofDocument = plans.get(document) ?? new Map<string, Known>()
  plans.set(document, ofDocument)
  const name = operationName ?? ''
  const known = ofDocument.get(name) ?? { plan: newPlan(schema, document, operationName) }
  ofDocument.set(name, known)
  return known
}

function newPlan(schema: GraphQLSchema, document: DocumentNode, operationName: string | null | undefined): Plan | null {
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION)
  const [operation, ...others] = operations.filter(({ name }) => operationName == null || name?.value === operationName)
  return operation === undefined || others.length > 0 ? null : planOf(schema, document, operation)
}
