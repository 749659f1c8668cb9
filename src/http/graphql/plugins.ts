import { type ExecutionArgs, type ExecutionResult, GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { resultText } from '../../graphql/execution/compiler/json-text.ts'
import type { RequestContext } from '../../graphql/execution/context.ts'
import { publicErrors, unknownOperation } from '../../graphql/execution/errors.ts'
import type { Executor } from '../../graphql/execution/executor.ts'
import type { PreparedDocument } from '../../graphql/execution/operation-cache.ts'
import type { FindDocument } from './persisted-operations.ts'

/** Context of Yoga's hooks, which Yoga names server context: the request, as the gateway's own plugins need it. */
export interface YogaContext {
  readonly requestContext: RequestContext
  /** Called when the parameters of the request are parsed. */
  readonly onParsed: () => void
  /** The prepared document of the request. */
  prepared?: PreparedDocument
  /** The error of a request whose document cannot be parsed, or has not the operation that it selects. */
  parseError?: GraphQLError
}

/**
 * Reports invalid JSON as a client error: Yoga reports it as a server error if it is in the query string, and with the
 * JavaScript engine's message if it is in the body.
 */
export const syntaxPlugin: Plugin<YogaContext, YogaContext> = {
  onRequestParse: ({ requestParser, setRequestParser }) => {
    if (requestParser === undefined) return
    setRequestParser(async (request) => {
      try {
        return await requestParser(request)
      } catch (error) {
        if (error instanceof SyntaxError) throw badRequest('variables or extensions are not JSON.')
        if (error instanceof GraphQLError && 'originalError' in error.extensions)
          throw badRequest('The body is not JSON.')
        throw error
      }
    })
  },
}

function badRequest(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status: 400 } } })
}

/**
 * Prepares and runs each request with the executor, in place of Yoga's parse, validate and execute.
 * @param findDocument finds the document of a request by its text or its id
 */
export function executorPlugin(executor: Executor, findDocument: FindDocument): Plugin<YogaContext, YogaContext> {
  return {
    async onParams({ params, setParams, context: yogaContext }) {
      yogaContext.onParsed()
      checkOperationName(params.operationName)
      const requested = findDocument(params, yogaContext.requestContext.sender)
      // Yoga refuses a query that is not a string, as GraphQL over HTTP specifies.
      if (requested === null) return
      const prepared = await executor.prepare(requested.text, yogaContext.requestContext)
      yogaContext.prepared = prepared
      const parseError = parseErrorOf(prepared, params.operationName)
      if (parseError !== null) yogaContext.parseError = parseError
      if (prepared.errors.length === 0) requested.keep(prepared.text)
      if (params.query !== requested.text) setParams({ ...params, query: requested.text })
    },
    onParse({ context: { prepared, parseError }, setParsedDocument, setParseFn }) {
      if (parseError !== undefined)
        setParseFn(() => {
          throw parseError
        })
      else if (prepared?.document != null) setParsedDocument(prepared.document)
    },
    onValidate({ context: { prepared }, setResult }) {
      if (prepared !== undefined) setResult(prepared.errors)
    },
    // The executor refuses a subscription here: `live/` starts the streams.
    onSubscribe: ({ args, setSubscribeFn }) => runByExecutor(args.contextValue, setSubscribeFn),
    onExecute: ({ args, setExecuteFn }) => runByExecutor(args.contextValue, setExecuteFn),
  }

  function runByExecutor({ prepared, requestContext }: YogaContext, setRun: (run: RunOperation) => void): void {
    if (prepared === undefined) return
    setRun(({ operationName, variableValues }) =>
      executor.run(prepared, { operationName, variables: variableValues }, requestContext),
    )
  }
}

/** @throws {GraphQLError} if the name of the operation is not a string: Yoga checks only the types of the other parameters */
function checkOperationName(name: unknown): void {
  if (name === undefined || name === null || typeof name === 'string') return
  const type = Array.isArray(name) ? 'array' : typeof name
  throw badRequest(`Expected "operationName" param to be a string, but given ${type}.`)
}

/** Returns the error that Yoga gets in place of a document; it would refuse an unknown operation without its name. */
function parseErrorOf(prepared: PreparedDocument, operationName: string | null | undefined): GraphQLError | null {
  if (prepared.document === null) return prepared.errors[0] ?? new GraphQLError('The document cannot be parsed.')
  const isKnown = prepared.errors.length > 0 || prepared.select(operationName) !== undefined
  return isKnown ? null : unknownOperation(operationName)
}

/** Runs an operation in place of graphql-js' `execute` or `subscribe`. */
type RunOperation = (args: ExecutionArgs) => Promise<ExecutionResult>

/**
 * Masks internal errors, and serializes results with exact numbers, for requests that Yoga reads itself; `runJsonPost`
 * does the same for a POST in JSON, whose results pass no such hook.
 */
export const resultPlugin: Plugin<YogaContext, YogaContext> = {
  onResultProcess: (hook) => {
    const { result } = hook
    if (!isResult(result)) return
    const errors = result.errors && publicErrors(result.errors, hook.serverContext.requestContext)
    hook.setResult({ ...result, ...(errors && { errors }), stringify: resultText })
  },
}

/** Returns whether a result is neither a batch nor a stream, which are not supported. */
function isResult(result: object | undefined): result is ExecutionResult {
  return result !== undefined && ('data' in result || 'errors' in result)
}
