import { type ExecutionArgs, type ExecutionResult, GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { resultText } from '../../graphql/execution/compiler/json-text.ts'
import type { RequestContext } from '../../graphql/execution/context.ts'
import { publicError } from '../../graphql/execution/errors.ts'
import type { Executor } from '../../graphql/execution/executor.ts'
import type { PreparedDocument } from '../../graphql/execution/operation-cache.ts'
import type { PersistedOperations } from './persisted-operations.ts'

/** Context of Yoga's hooks, which Yoga names server context: the request, as the gateway's own plugins need it. */
export interface YogaContext {
  readonly requestContext: RequestContext
  /** Called when the parameters of the request are parsed. */
  readonly onParsed: () => void
  /** The prepared document of the request. */
  prepared?: PreparedDocument
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
export function executorPlugin(
  executor: Executor,
  findDocument: PersistedOperations,
): Plugin<YogaContext, YogaContext> {
  return {
    async onParams({ params, setParams, context: yogaContext }) {
      yogaContext.onParsed()
      const asked = findDocument(params)
      // Yoga refuses a query that is not a string, as GraphQL over HTTP specifies.
      if (asked === null) return
      const prepared = await executor.prepare(asked.text, yogaContext.requestContext)
      yogaContext.prepared = prepared
      if (prepared.errors.length === 0) asked.keep(prepared.text)
      if (params.query !== asked.text) setParams({ ...params, query: asked.text })
    },
    onParse({ context: { prepared }, setParsedDocument, setParseFn }) {
      if (prepared === undefined) return
      const { document, errors } = prepared
      if (document !== null) setParsedDocument(document)
      else
        setParseFn(() => {
          throw errors[0] ?? new GraphQLError('The document cannot be parsed.')
        })
    },
    onValidate({ context: { prepared }, setResult }) {
      if (prepared !== undefined) setResult(prepared.errors)
    },
    // The executor refuses a subscription here: `live/` starts the streams.
    onSubscribe({ args, setSubscribeFn }) {
      const { requestContext, prepared } = args.contextValue
      if (prepared === undefined) return
      setSubscribeFn(({ operationName, variableValues }: ExecutionArgs) =>
        executor.run(prepared, { operationName, variables: variableValues }, requestContext),
      )
    },
    onExecute({ args, setExecuteFn }) {
      const { requestContext, prepared } = args.contextValue
      if (prepared === undefined) return
      setExecuteFn(({ operationName, variableValues }: ExecutionArgs) =>
        executor.run(prepared, { operationName, variables: variableValues }, requestContext),
      )
    },
  }
}

/**
 * Masks internal errors, and serializes results with exact numbers, for requests that Yoga reads itself; `runJsonPost`
 * does the same for a POST in JSON, whose results pass no such hook.
 */
export const resultPlugin: Plugin<YogaContext, YogaContext> = {
  onResultProcess: (hook) => {
    const { result } = hook
    if (!isResult(result)) return
    const { requestContext } = hook.serverContext
    const errors = result.errors?.map((error) => publicError(error, requestContext.report))
    if (errors !== undefined && requestContext.origin !== undefined) requestContext.origin.isCacheable = false
    hook.setResult({ ...result, ...(errors && { errors }), stringify: resultText })
  },
}

/** Returns whether a result is neither a batch nor a stream, which are not supported. */
function isResult(result: object | undefined): result is ExecutionResult {
  return result !== undefined && ('data' in result || 'errors' in result)
}
