import {
  type DocumentNode,
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql'
import { LRUCache } from 'lru-cache'
import { keptPlans } from '../../../limits.ts'
import { JsonText } from './json-text.ts'
import { coerceVariables, operationOf } from '../operation.ts'
import { type CompiledOperation, compileOperation, type Written } from './compile-operation.ts'

/** Each entry holds the document of its operation: its text weighs with the fields of the plan. */
const plans = new LRUCache<OperationDefinitionNode, CompiledOperation>({
  maxSize: keptPlans.bytes,
  sizeCalculation: ({ fields, operation }) =>
    keptPlans.fieldBytes * fields + keptPlans.characterBytes * (operation.loc?.source.body.length ?? 1),
})
/** Operations that can't be planned; they go with their documents. */
const unplannable = new WeakSet<OperationDefinitionNode>()

/**
 * Executes a valid document as graphql-js does, and faster where it was executed before: what depends on the document
 * alone is worked out once, and the data is written as `JsonText`. Whatever isn't plain success, and documents that can't
 * be planned, graphql-js executes: what it makes of them is GraphQL's own semantics of nulls, errors and their order. What
 * loaders have read or failed to read is there then already.
 * @param coerced its variables, where they were coerced before
 */
export async function executeCompiled(
  args: ExecutionArgs,
  coerced?: Readonly<Record<string, unknown>>,
): Promise<ExecutionResult> {
  const { schema, document, operationName, variableValues } = args
  const operation = operationOf(document, operationName)
  const plan = operation && knownPlan(schema, document, operation)
  const variables = coerced ?? (operation && coerceVariables(schema, operation, variableValues).coerced)
  const written = plan == null || variables === undefined ? null : await runCompiled(plan, args, variables)
  if (written === null) return execute(args)
  return { data: new JsonText(written.text) as object as Record<string, unknown> }
}

/**
 * Runs a plan.
 * @param coerced variables
 * @returns null where it fails
 */
export async function runCompiled(
  { run }: CompiledOperation,
  { rootValue, contextValue }: Pick<ExecutionArgs, 'rootValue' | 'contextValue'>,
  coerced: Readonly<Record<string, unknown>>,
): Promise<Written | null> {
  try {
    return await run(rootValue, contextValue, coerced)
  } catch {
    return null
  }
}

function knownPlan(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): CompiledOperation | null {
  if (unplannable.has(operation)) return null
  const known = plans.get(operation)
  if (known !== undefined) return known
  const plan = compileOperation(schema, document, operation)
  if (plan === null) unplannable.add(operation)
  else plans.set(operation, plan)
  return plan
}
