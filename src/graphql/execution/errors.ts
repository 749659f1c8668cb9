import { GraphQLError, Kind } from 'graphql'
import { mostMessageCharacters } from '../../limits.ts'
import { ReadCancelled } from '../../database/errors.ts'
import { DatabaseUnavailable } from '../../database/errors.ts'
import { DomainError } from '../../domain/errors.ts'
import { AdmissionQueueFull } from './admission/admission-control.ts'

/**
 * Is told of an error that nobody planned for, and tells each of a request's once.
 * @returns the id of the request, under which the operator finds it
 */
export type ReportUnplanned = (error: unknown) => string

/** What is said of an error that is none of its asker's business. */
export function masked(requestId: string): string {
  return `Something went wrong here. It is logged with the request id ${requestId}.`
}

/** Of a document that the schema doesn't allow, whatever rule it was that a literal broke. */
const invalidCode = 'GRAPHQL_VALIDATION_FAILED'

/** Of a request that never began to run, as GraphQL over HTTP has it; the older `application/json` is answered 200. */
const badRequest = { http: { status: 400, spec: true } }

/** Of what may succeed later: a database that restarts takes a few seconds. */
const retryLater = { http: { status: 503, headers: { 'retry-after': '2' } } }

/**
 * An error as its asker may know it: a broken rule by its code and argument, an invalid query as it is, what may succeed
 * later as that, and anything else masked, and reported to the operator.
 */
export function publicError(error: unknown, report: ReportUnplanned): GraphQLError {
  const at = error instanceof GraphQLError ? error : undefined
  if (at?.extensions['code'] === invalidCode) return clipped(at)
  const broken = causeOf(error)
  if (broken instanceof DomainError) {
    const variable = variableOf(at)
    return new GraphQLError(clip(broken.message), {
      ...(at?.nodes === undefined ? {} : { nodes: at.nodes }),
      ...(at?.path === undefined ? {} : { path: at.path }),
      extensions: { code: 'BAD_USER_INPUT', argument: variable ?? broken.key, ...(variable && badRequest) },
    })
  }
  const passing = passingCode(broken)
  if (passing !== null) {
    const [code, message] = passing
    return new GraphQLError(message, { path: at?.path ?? null, extensions: { code, ...retryLater } })
  }
  // With a path it is of a field that ran: what that couldn't serve is ours to mend.
  if (at !== undefined && broken === undefined && at.path === undefined) return withCode(at)
  return new GraphQLError(masked(report(broken ?? error)), {
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

function passingCode(error: unknown): readonly [code: string, message: string] | null {
  if (error instanceof DatabaseUnavailable) return ['DATABASE_UNAVAILABLE', `${error.message} Ask again later.`]
  if (error instanceof AdmissionQueueFull) return ['OVERLOADED', `${error.message} Ask again later.`]
  if (error instanceof ReadCancelled)
    return ['DEADLINE_EXCEEDED', 'The read took too long. Ask for less, or again later.']
  return null
}

/** The variable whose value could not be coerced. */
function variableOf(error: GraphQLError | undefined): string | undefined {
  const node = error?.nodes?.[0]
  return node?.kind === Kind.VARIABLE_DEFINITION ? node.variable.name.value : undefined
}

function withCode(error: GraphQLError): GraphQLError {
  if (error.extensions['code'] !== undefined) return clipped(error)
  const argument = variableOf(error)
  return new GraphQLError(clip(error.message), {
    ...(error.nodes === undefined ? {} : { nodes: error.nodes }),
    extensions:
      argument === undefined
        ? { ...badRequest, code: 'BAD_REQUEST' }
        : { ...badRequest, code: 'BAD_USER_INPUT', argument },
  })
}

/** A message may repeat what was sent: a part of it tells enough. */
function clip(message: string): string {
  return message.length <= mostMessageCharacters ? message : `${message.slice(0, mostMessageCharacters)}…`
}

function clipped(error: GraphQLError): GraphQLError {
  const { message, nodes, path, extensions } = error
  if (message.length <= mostMessageCharacters) return error
  return new GraphQLError(clip(message), { nodes: nodes ?? null, path: path ?? null, extensions })
}
