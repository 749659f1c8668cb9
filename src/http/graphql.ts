import type { ExecutionArgs } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'
import { defaultQueryBounds, type QueryBounds, turns } from '../bounds.ts'
import { executeCompiled } from '../graphql/compiled.ts'
import type { Context, ContextOf, Making } from '../graphql/context.ts'
import { stringify } from '../graphql/exact-number.ts'
import { createExecutor } from '../graphql/execute.ts'
import { publicError, type ReportUnplanned } from '../graphql/failures.ts'
import { checkExtent, checkText } from '../graphql/limits.ts'
import { schema } from '../graphql/schema.ts'
import { createTurns } from '../graphql/turns.ts'
import type { Answer, Inbound } from './exchange.ts'
import { exampleAddress, graphiqlOptions } from './graphiql.ts'

export const graphqlPath = '/graphql'

/** Whatever the gateway is called: only the path and the query matter. */
const origin = 'http://gateway'

/** What OPTIONS, and so a preflight, is answered. */
export const preflightAnswer: Answer = { status: 204, headers: { allow: 'GET, POST, OPTIONS' }, body: '' }

export interface GraphqlOptions {
  readonly contextOf: ContextOf
  readonly report: ReportUnplanned
  /** Whether anybody may see the data: GraphiQL's page, which is open to all, shows an address only then. */
  readonly isOpen: boolean
  readonly queryBounds?: QueryBounds | undefined
}

/** Answers a request to `/graphql`. */
export type AnswerGraphql = (request: Inbound, body: Buffer<ArrayBuffer>, making: Making) => Promise<Answer>

interface ServerContext {
  readonly making: Making
}

/** GraphQL over HTTP, and GraphiQL for browsers. */
export function createGraphql({ contextOf, report, isOpen, queryBounds }: GraphqlOptions): AnswerGraphql {
  const executeDocument = createExecutor(contextOf, report)
  const yoga = createYoga<ServerContext, Context>({
    schema,
    graphqlEndpoint: graphqlPath,
    context: ({ making }) => contextOf(making),
    maskedErrors: { maskError: (error) => publicError(error, report) },
    // Its page takes 70 MB of memory, which a gateway that nobody looks at needn't have.
    renderGraphiQL: async (options) => (await import('@graphql-yoga/render-graphiql')).renderGraphiQL(options),
    graphiql: async ({ url }) => graphiqlOptions(new URL(url), isOpen ? await exampleAddress(executeDocument) : null),
    landingPage: false,
    // Cross-origin headers are those of every answer, and logging is the gateway's.
    cors: false,
    logging: false,
    plugins: [bounded(queryBounds ?? defaultQueryBounds), sameWayOut],
  })
  return async ({ method, target, headers }, body, making) => {
    const isRead = method === 'GET' || method === 'HEAD'
    const request = new Request(origin + target, { method, headers: headers(), ...(isRead ? {} : { body }) })
    const response = await yoga.fetch(request, { making })
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
  }
}

/**
 * Refuses what is over its bounds before it is parsed, or before it runs; lets what is dear run when there is room for
 * it, and tells what it costs.
 */
const bounded = (bounds: QueryBounds): Plugin<ServerContext> => {
  const takeTurn = createTurns(turns.most, turns.little)
  return {
    onParams: ({ params, setResult }) => {
      // What is no string is refused after this, in GraphQL over HTTP's own words.
      const error = typeof params.query === 'string' ? checkText(params.query, bounds) : null
      if (error !== null) setResult({ errors: [error] })
    },
    onExecute: ({ args, setExecuteFn, setResultAndStopExecution }) => {
      const { document, operationName, variableValues } = args as ExecutionArgs
      const variables = variableValues ?? {}
      const { figures, error } = checkExtent({ schema, document, operationName, variables }, bounds)
      if (error !== null) return setResultAndStopExecution({ errors: [error] })
      const { signal } = args.contextValue.making
      setExecuteFn((given: ExecutionArgs) => takeTurn(figures.cost, signal, () => executeCompiled(given)))
      const cost = { cost: { figure: figures.cost, most: bounds.cost } }
      return {
        onExecuteDone: ({ result, setResult }) => {
          if ('data' in result) setResult({ ...result, extensions: { ...result.extensions, ...cost } })
        },
      }
    },
  }
}

/** What the other way out does too: amounts leave as the exact numbers they are. Only what is whole is kept. */
const sameWayOut: Plugin<ServerContext> = {
  onExecute: ({ args }) => {
    const { making } = args.contextValue
    return {
      onExecuteDone: ({ result, setResult }) => {
        if ('data' in result) setResult({ ...result, stringify } as typeof result)
        if (!('data' in result) || result.errors !== undefined) making.failed?.()
      },
    }
  },
}
