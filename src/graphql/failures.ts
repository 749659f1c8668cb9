import { GraphQLError, Kind } from 'graphql'
import { DomainError } from '../domain/errors.ts'

/** Is told of an error that nobody planned for. */
export type ReportUnplanned = (error: unknown) => void

/**
 * An error as its asker may know it: a broken rule by its code and argument, an invalid query as it is, and anything
 * else masked, and reported to the operator.
 */
export function publicError(error: unknown, report: ReportUnplanned): GraphQLError {
  const broken = causeOf(error)
  const at = error instanceof GraphQLError ? error : undefined
  if (broken instanceof DomainError) {
    return new GraphQLError(broken.message, {
      ...(at?.nodes === undefined ? {} : { nodes: at.nodes }),
      ...(at?.path === undefined ? {} : { path: at.path }),
      extensions: { code: 'BAD_USER_INPUT', argument: variableOf(at) ?? broken.key },
    })
  }
  if (at !== undefined && broken === undefined) return withCode(at)
  report(broken ?? error)
  return new GraphQLError('Something went wrong here.', {
    ...(at?.path === undefined ? {} : { path: at.path }),
    extensions: { code: 'INTERNAL_SERVER_ERROR', http: { status: 500 } },
  })
}

/** What was thrown, below all GraphQL errors that carry it; undefined where the query itself is at fault. */
function causeOf(error: unknown): unknown {
  let cause = error
  while (cause instanceof GraphQLError) cause = cause.originalError
  return cause
}

/** The variable whose value could not be coerced. */
function variableOf(error: GraphQLError | undefined): string | undefined {
  const node = error?.nodes?.[0]
  return node?.kind === Kind.VARIABLE_DEFINITION ? node.variable.name.value : undefined
}

function withCode(error: GraphQLError): GraphQLError {
  const argument = variableOf(error)
  if (error.extensions['code'] !== undefined || argument === undefined) return error
  return new GraphQLError(error.message, {
    ...(error.nodes === undefined ? {} : { nodes: error.nodes }),
    extensions: { ...error.extensions, code: 'BAD_USER_INPUT', argument },
  })
}
