import {
  type DocumentNode,
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  getVariableValues,
  type GraphQLSchema,
  Kind,
} from 'graphql'
import { type Plan, planOf } from './plan.ts'

type OperationPlan = { readonly isPlanned: true; readonly plan: Plan } | { readonly isPlanned: false }

const plans = new WeakMap<DocumentNode, Map<string, OperationPlan>>()

/**
 * Executes a valid document as graphql-js does, and faster where it was executed before: what depends on the document
 * alone is worked out once. Whatever isn't plain success, and documents that can't be planned, graphql-js executes:
 * what it makes of them is GraphQL's own semantics of nulls, errors and their order. What loaders have read or failed to
 * read is there then already.
 */
export function executeCompiled(args: ExecutionArgs): Promise<ExecutionResult> | ExecutionResult {
  const { schema, document, operationName, contextValue: context } = args
  const known = operationPlan(schema, document, operationName)
  if (!known.isPlanned) return execute(args)
  const { operation, run } = known.plan
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], args.variableValues ?? {})
  if (coerced === undefined) return execute(args)
  try {
    const data = run(args.rootValue, { context, variables: coerced, completed: new Map() })
    return data instanceof Promise ? data.then(succeeded, () => execute(args)) : succeeded(data)
  } catch {
    return execute(args)
  }
}

function succeeded(data: unknown): ExecutionResult {
  return { data: data as Record<string, unknown> }
}

function operationPlan(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): OperationPlan {
  const ofDocument = plans.get(document) ?? new Map<string, OperationPlan>()
  plans.set(document, ofDocument)
  const name = operationName ?? ''
  const known = ofDocument.get(name) ?? newPlan(schema, document, operationName)
  ofDocument.set(name, known)
  return known
}

function newPlan(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): OperationPlan {
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION)
  const [operation, ...others] = operations.filter(({ name }) => operationName == null || name?.value === operationName)
  if (operation === undefined || others.length > 0) return { isPlanned: false }
  const plan = planOf(schema, document, operation)
  return plan === null ? { isPlanned: false } : { isPlanned: true, plan }
}
