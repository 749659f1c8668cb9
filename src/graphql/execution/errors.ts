import { GraphQLError, Kind } from 'graphql'
import { maxMessageCharacters } from '../../limits.ts'
import { DatabaseRefused, DatabaseUnavailable, ReadCancelled } from '../../database/errors.ts'
import { DomainError, HistoryNotKept } from '../../domain/errors.ts'
import { AdmissionQueueFull } from './admission/admission-control.ts'
import type { ReportUnexpected, RequestContext } from './context.ts'

/** Returns the public message of an internal error. */
export function masked(requestId: string): string {
  return `Something went wrong here. It is logged with the request id ${requestId}.`
}

/** Code of a document that is invalid against the schema, whichever rule a literal violates. */
const invalidCode = 'GRAPHQL_VALIDATION_FAILED'

/** Code of a query over a limit. */
export const overBoundCode = 'QUERY_OVER_BOUND'
/** Code of a request that selects no operation of its document. */
const unknownOperationCode = 'OPERATION_RESOLUTION_FAILURE'
/**
 * Codes of refusals that are 400 in each media type. Yoga sets `spec` on errors of parsing and validation, which makes them 200 in
 * `application/json`.
 */
const always400: readonly unknown[] = [overBoundCode, unknownOperationCode]

/**
 * Extensions of an error before execution, 400 as GraphQL over HTTP specifies; with the older `application/json` the
 * status is 200.
 */
const badRequest = { http: { status: 400, spec: true } }

/** Extensions of a transient error: the restart of a database takes a few seconds. */
const unavailable = { http: { status: 503, headers: { 'retry-after': '2' } } }

/** Converts the errors of a result into their public form; a response with errors is not cached. */
export function publicErrors(
  errors: readonly GraphQLError[],
  { report, origin }: RequestContext,
): readonly GraphQLError[] {
  if (origin !== undefined) origin.isCacheable = false
  return errors.map((error) => publicError(error, report))
}

/**
 * Converts an error into its public form. A violated rule has its code and argument, an invalid query is unchanged, a
 * transient error has its own code; any other error is masked and reported to the operator.
 */
function publicError(error: unknown, report: ReportUnexpected): GraphQLError {
  const at = error instanceof GraphQLError ? error : undefined
  if (at?.extensions['code'] === invalidCode) return clipped(at)
  if (at !== undefined && always400.includes(at.extensions['code']))
    return errorAt(at, clip(at.message), { ...at.extensions, http: { status: 400, spec: false } })
  const broken = causeOf(error)
  if (broken instanceof DomainError) {
    const variable = variableOf(at)
    const extensions = { code: 'BAD_USER_INPUT', argument: variable ?? broken.key, ...(variable && badRequest) }
    return errorAt(at, clip(broken.message), extensions)
  }
  if (broken instanceof HistoryNotKept) {
    const extensions = { code: 'HISTORY_NOT_KEPT', historySince: broken.historySince }
    return new GraphQLError(broken.message, { path: at?.path ?? null, extensions })
  }
  const passing = passingCode(broken)
  if (passing !== null) {
    const [code, message] = passing
    return new GraphQLError(message, { path: at?.path ?? null, extensions: { code, ...unavailable } })
  }
  if (broken instanceof DatabaseRefused) {
    report(broken)
    const extensions = { code: 'DATABASE_UNAVAILABLE', ...unavailable }
    return new GraphQLError("The database can't be read now. Try again later.", {
      path: at?.path ?? null,
      extensions,
    })
  }
  // An error with a path comes from a resolver: a server error.
  if (at !== undefined && broken === undefined && at.path === undefined) return withCode(at)
  return new GraphQLError(masked(report(broken ?? error)), {
    ...(at?.path === undefined ? {} : { path: at.path }),
    extensions: { code: 'INTERNAL_SERVER_ERROR', http: { status: 500 } },
  })
}

/**
 * Creates an error with the path and location of another one. There may be hundreds, so line and column are not
 * computed again, and there is no stack trace.
 */
function errorAt(
  { path, nodes, locations }: Partial<Pick<GraphQLError, 'path' | 'nodes' | 'locations'>> = {},
  message: string,
  extensions: Readonly<Record<string, unknown>>,
): GraphQLError {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const error = new GraphQLError(message, { path: path ?? null, extensions })
  Error.stackTraceLimit = stackTraceLimit
  return Object.assign(error, nodes && { nodes }, locations && { locations })
}

/** Returns the error that was thrown, unwrapped from all GraphQL errors; undefined if the query itself is invalid. */
function causeOf(error: unknown): unknown {
  let cause = error
  while (cause instanceof GraphQLError) cause = cause.originalError
  return cause
}

/** Returns whether an error is temporary, such as an outage of the database. */
export function isTransient(error: unknown): boolean {
  return passingCode(error) !== null
}

function passingCode(error: unknown): readonly [code: string, message: string] | null {
  if (error instanceof DatabaseUnavailable) return ['DATABASE_UNAVAILABLE', `${error.message} Try again later.`]
  if (error instanceof AdmissionQueueFull) return ['OVERLOADED', `${error.message} Try again later.`]
  if (error instanceof ReadCancelled)
    return ['DEADLINE_EXCEEDED', 'The read took too long. Request less data, or try again later.']
  return null
}

/** Returns the variable whose value could not be coerced. */
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

/** Truncates a message, which may repeat client input. */
function clip(message: string): string {
  return message.length <= maxMessageCharacters ? message : `${message.slice(0, maxMessageCharacters)}…`
}

function clipped(error: GraphQLError): GraphQLError {
  const { message, nodes, path, extensions } = error
  if (message.length <= maxMessageCharacters) return error
  return new GraphQLError(clip(message), { nodes: nodes ?? null, path: path ?? null, extensions })
}

/** Returns the error of an unknown operation name, with the message of graphql-js, and the code and status of Yoga. */
export function unknownOperation(name: string | null | undefined): GraphQLError {
  const message =
    name == null
      ? 'Must provide operation name if query contains multiple operations.'
      : `Unknown operation named "${name}".`
  return new GraphQLError(message, { extensions: { code: unknownOperationCode } })
}

/** Returns the error of a mutation, of which there are none. */
export function noMutation(): GraphQLError {
  return new GraphQLError('There are no mutations: nothing can be changed here.')
}

/** Returns the error of a subscription that is not requested as a stream. */
export function noStream(): GraphQLError {
  return new GraphQLError('A subscription is a stream: send Accept: text/event-stream.')
}

/** Returns the error of a subscription that @skip or @include leave no field. */
export function noSubscribedField(): GraphQLError {
  return new GraphQLError('The subscription selects no field: @skip or @include leave none.')
}

/**
 * Sorts the errors of an execution: in the order of their fields in the document, and those of one field by their paths. graphql-js
 * lists them in the order in which they occur, which depends on the durations of reads.
 */
export function inDocumentOrder(errors: readonly GraphQLError[]): GraphQLError[] {
  return [...errors].sort((a, b) => positionOf(a) - positionOf(b) || comparePaths(a.path ?? [], b.path ?? []))
}

/** Returns the position of the field of an error in its document. */
function positionOf({ positions }: GraphQLError): number {
  return positions?.[0] ?? 0
}

/** A path in a result: response keys, and indices of lists. */
type ResultPath = NonNullable<GraphQLError['path']>

function comparePaths(a: ResultPath, b: ResultPath): number {
  const at = a.findIndex((key, index) => key !== b[index])
  const [own, other] = [a[at], b[at]]
  if (own === undefined || other === undefined) return a.length - b.length
  if (typeof own === 'number' && typeof other === 'number') return own - other
  return String(own) < String(other) ? -1 : 1
}
