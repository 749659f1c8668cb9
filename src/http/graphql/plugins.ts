import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  NoFragmentCyclesRule,
  validate,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { mostValidationErrors, type QueryLimits } from '../../limits.ts'
import { resultText } from '../../graphql/execution/compiler/json-text.ts'
import { publicError } from '../../graphql/execution/errors.ts'
import { checkRepeats, checkText } from '../../graphql/execution/query-limits.ts'
import type { Asking, BoundedExecution } from './bounded-execution.ts'

/** What of this gateway Yoga's hooks know. */
export interface ServerContext extends Asking {
  /** Is told where the answer is whole. */
  readonly onWhole: () => void
}

/**
 * Refuses what can't be read as the asker's fault: Yoga takes a query string's broken JSON for its own, and tells of a
 * body's what the engine says of it.
 */
export const readable: Plugin<ServerContext> = {
  onRequestParse: ({ requestParser, setRequestParser }) => {
    if (requestParser === undefined) return
    setRequestParser(async (request) => {
      try {
        return await requestParser(request)
      } catch (error) {
        if (error instanceof SyntaxError) throw unreadable('variables or extensions are not JSON.')
        if (error instanceof GraphQLError && 'originalError' in error.extensions) {
          throw unreadable('The body is not JSON.')
        }
        throw error
      }
    })
  },
}

function unreadable(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status: 400 } } })
}

/**
 * Refuses fields that are repeated too often, which take quadratic time to validate. Looks for fragments that spread themselves before the other rules run, one of which follows them until the stack is
 * full, and stops at some errors.
 */
export const boundedValidation = (bounds: QueryLimits): Plugin<ServerContext> => ({
  onValidate: ({ setValidationFn }) => {
    setValidationFn((...[schema, document, rules]: Parameters<typeof validate>) => {
      const tooMany = checkRepeats(document, bounds)
      if (tooMany !== null) return [tooMany]
      const cycles = validate(schema, document, [NoFragmentCyclesRule], { maxErrors: 1 })
      return cycles.length > 0
        ? cycles.slice(0, 1)
        : validate(schema, document, rules, { maxErrors: mostValidationErrors })
    })
  },
})

/**
 * Refuses what is over its bounds before it is parsed, or before it runs; lets what is dear run when it has its turn,
 * and tells what it costs.
 */
export const bounded = (
  bounds: QueryLimits,
  execution: BoundedExecution,
  valid: WeakSet<DocumentNode>,
): Plugin<ServerContext> => ({
  onParams: ({ params, setResult }) => {
    // What is no string is refused after this, in GraphQL over HTTP's own words.
    const error = typeof params.query === 'string' ? checkText(params.query, bounds) : null
    if (error !== null) setResult({ errors: [error] })
  },
  onExecute: ({ args, setExecuteFn, setResultAndStopExecution }) => {
    const asking = args.contextValue
    valid.add((args as ExecutionArgs).document)
    const { error, run, extensions } = execution(args)
    if (error !== null) return setResultAndStopExecution({ errors: [error] })
    setExecuteFn((given: ExecutionArgs) => run(given, asking))
    return {
      onExecuteDone: ({ result, setResult }) => {
        if ('data' in result) setResult({ ...result, extensions: { ...result.extensions, ...extensions } })
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
    const { making, onWhole } = processed.serverContext
    if (!isResult(result)) return
    const { errors } = result
    if (errors === undefined && 'data' in result) onWhole()
    else making.failed?.()
    const told = errors && { errors: errors.map((error) => publicError(error, making.report)) }
    processed.setResult({ ...result, ...told, stringify: resultText })
  },
}

/** One result: lists of them and streams aren't asked for. */
function isResult(result: object | undefined): result is ExecutionResult {
  return result !== undefined && ('data' in result || 'errors' in result)
}
