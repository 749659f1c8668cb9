import { type ExecutionArgs, GraphQLError } from 'graphql'
import type { ExecutionResult } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { type QueryBounds, turnBounds } from '../bounds.ts'
import { executeCompiled } from '../graphql/compiled.ts'
import type { Making } from '../graphql/context.ts'
import { stringify } from '../graphql/exact-number.ts'
import { publicError } from '../graphql/failures.ts'
import { checkExtent, checkText } from '../graphql/limits.ts'
import { schema } from '../graphql/schema.ts'
import type { Turns } from '../graphql/turns.ts'

/** What of this gateway an execution by Yoga knows. */
export interface ServerContext {
  readonly making: Making
  /** Whether the request has its turn already, for its document was never asked before. */
  readonly hasTurn: boolean
}

/** Refuses what can't be read as the asker's fault: Yoga takes a query string's broken JSON for its own. */
export const readable: Plugin<ServerContext> = {
  onRequestParse: ({ requestParser, setRequestParser }) => {
    if (requestParser === undefined) return
    setRequestParser(async (request) => {
      try {
        return await requestParser(request)
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error
        throw new GraphQLError('variables or extensions are not JSON.', {
          extensions: { code: 'BAD_REQUEST', http: { status: 400 } },
        })
      }
    })
  },
}

/**
 * Refuses what is over its bounds before it is parsed, or before it runs; lets what is dear run when it has its turn,
 * and tells what it costs.
 */
export const bounded = (bounds: QueryBounds, turns: Turns): Plugin<ServerContext> => ({
  onParams: ({ params, setResult }) => {
    // What is no string is refused after this, in GraphQL over HTTP's own words.
    const error = typeof params.query === 'string' ? checkText(params.query, bounds) : null
    if (error !== null) setResult({ errors: [error] })
  },
  onExecute: ({ args, setExecuteFn, setResultAndStopExecution }) => {
    const { document, operationName, variableValues } = args as ExecutionArgs
    const { hasTurn, making } = args.contextValue
    const variables = variableValues ?? {}
    const { figures, error } = checkExtent({ schema, document, operationName, variables }, bounds)
    if (error !== null) return setResultAndStopExecution({ errors: [error] })
    const isDear = figures.cost > turnBounds.plainCost && !hasTurn
    setExecuteFn((given: ExecutionArgs) => {
      const work = (): ReturnType<typeof executeCompiled> => executeCompiled(given)
      return isDear ? turns.dear(figures.cost, making.signal, work) : turns.plain(work)
    })
    const cost = { cost: { figure: figures.cost, most: bounds.cost } }
    return {
      onExecuteDone: ({ result, setResult }) => {
        if ('data' in result) setResult({ ...result, extensions: { ...result.extensions, ...cost } })
      },
    }
  },
})

/**
 * What the other way out does too: amounts leave as the exact numbers they are, and errors as their asker may know them.
 * Only what is whole is kept.
 */
export const sameWayOut: Plugin<object, ServerContext> = {
  onResultProcess: (processed) => {
    const { result } = processed
    const { making } = processed.serverContext
    if (!isResult(result)) return
    const { errors } = result
    if (errors !== undefined || !('data' in result)) making.failed?.()
    const told = errors && { errors: errors.map((error) => publicError(error, making.report)) }
    processed.setResult({ ...result, ...told, stringify })
  },
}

/** One result: lists of them and streams aren't asked for. */
function isResult(result: object | undefined): result is ExecutionResult {
  return result !== undefined && ('data' in result || 'errors' in result)
}
