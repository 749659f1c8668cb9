import { renderGraphiQL } from '@graphql-yoga/render-graphiql'
import { createYoga, type Plugin, type YogaServerInstance } from 'graphql-yoga'
import type { Database } from '../database/database.ts'
import type { Context } from '../graphql/context.ts'
import { stringify } from '../graphql/exact-number.ts'
import { publicError, type ReportUnplanned } from '../graphql/failures.ts'
import { schema } from '../graphql/schema.ts'
import { graphiqlOptions } from './graphiql.ts'

export const graphqlPath = '/graphql'

/** GraphQL over HTTP, and GraphiQL for browsers. */
export function createGraphql(database: Database, report: ReportUnplanned): YogaServerInstance<object, Context> {
  return createYoga<object, Context>({
    schema,
    graphqlEndpoint: graphqlPath,
    context: () => ({ database }),
    maskedErrors: { maskError: (error) => publicError(error, report) },
    renderGraphiQL,
    graphiql: () => graphiqlOptions(database),
    landingPage: false,
    // Cross-origin headers are those of every answer, and logging is the gateway's.
    cors: false,
    logging: false,
    plugins: [exactNumbers],
  })
}

/** Amounts leave as the exact numbers they are, on this way out as on the other. */
const exactNumbers: Plugin<Context> = {
  onExecute: () => ({
    onExecuteDone: ({ result, setResult }) => {
      if ('data' in result) setResult({ ...result, stringify } as typeof result)
    },
  }),
}
