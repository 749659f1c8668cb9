import { type DocumentNode, type ExecutionResult, parse, validate } from 'graphql'
import { executeCompiled } from './compiled.ts'
import type { ContextOf, Making } from './context.ts'
import { publicError } from './failures.ts'
import { schema } from './schema.ts'

/** Runs one of the gateway's own documents, in process. */
export type ExecuteDocument = (
  document: { toString(): string },
  variables: Record<string, unknown>,
  making: Making,
) => Promise<ExecutionResult>

/** An executor. A document is parsed and validated when it first runs, once. */
export function createExecutor(contextOf: ContextOf): ExecuteDocument {
  const parsed = new WeakMap<object, DocumentNode>()
  return async (document, variables, making) => {
    const known = parsed.get(document) ?? parseValid(document.toString())
    parsed.set(document, known)
    const contextValue = contextOf(making)
    const result = await executeCompiled({ schema, document: known, variableValues: variables, contextValue })
    if (result.errors === undefined) return result
    return { ...result, errors: result.errors.map((error) => publicError(error, making.report)) }
  }
}

function parseValid(source: string): DocumentNode {
  const document = parse(source)
  const [error] = validate(schema, document)
  if (error !== undefined) throw error
  return document
}
