import {
  type Headers,
  ifNoneMatchSchema,
  minDataVersionSchema,
  contentHeaders,
  dataHeaders,
  paginationHeaders,
  pastHeaders,
  resultHeaders,
  lastEventIdSchema,
  rateLimitHeaders,
  streamHeaders,
} from './headers.ts'
import { csvContent } from '../csv.ts'
import { type LiveRoute, liveRoutes } from '../live-routes.ts'
import { problems, type ProblemCode } from '../problem.ts'
import { type DocumentedRoute, type Refusal, refusals } from './refusals.ts'
import { pathParameterNames, type Route, tags } from '../route.ts'
import { pathParameterSchemas, routes } from '../routes.ts'
import { exampleOf, integer, list, object, type Schema, text } from './schemas.ts'

const problemSchema: Schema = {
  ...object('A refusal, as RFC 9457 writes it.', {
    type: { ...text('The kind of problem.', 'urn:vault-gateway:problem:internal'), pattern: '^urn:' },
    title: text('The kind of problem, in words.', 'Something went wrong here'),
    status: { ...integer('The HTTP status.', 500), minimum: 400, maximum: 599 },
    detail: text('The fault of this request.', 'Something went wrong here.'),
    parameter: text('The parameter at fault, where there is one.', 'points'),
    historySince: integer('From when on the state of the vault is kept, in Unix seconds.', 1763427600),
  }),
  required: ['type', 'title', 'status', 'detail'],
}

/**
 * The REST interface as an OpenAPI 3.1 document, generated from the tables of routes and problems.
 * @see https://spec.openapis.org/oas/v3.1.1
 */
export const openapi = {
  openapi: '3.1.1',
  info: {
    title: 'vault-gateway',
    version: '1.0.0',
    summary: 'Vault analytics and strategy catalogue, read-only.',
    description:
      'The worth of capital vaults that run automated liquidity-provision strategies, what went in and out, and ' +
      'what they gained net of flows. Times are Unix seconds; USD amounts are JSON numbers of at most 6 decimals, ' +
      'whose text is exact. Other query parameters are ignored. HEAD is answered like GET, without the body. ' +
      'Fields are added, never changed or dropped without a deprecation first.',
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'The gateway that serves this document.' }],
  // A key is needed only if keys are configured.
  security: [{}, { key: [] }],
  tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
  paths: {
    ...Object.fromEntries(routes.map((route) => [templateOf(route), { get: operationOf(route) }])),
    ...Object.fromEntries(liveRoutes.map((route) => [route.path, { get: liveOperationOf(route) }])),
  },
  components: {
    securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key of the gateway.' } },
    schemas: {
      ...Object.fromEntries(routes.map(({ documentation }) => [documentation.name, documentation.schema])),
      ...Object.fromEntries(liveRoutes.map(({ event }) => [event.name, event.schema])),
      Problem: problemSchema,
    },
    responses: Object.fromEntries(
      [...routes, ...liveRoutes].flatMap(failuresOf).map((kinds) => [nameOf(kinds), failure(kinds)]),
    ),
  },
}

function liveOperationOf(route: LiveRoute): object {
  const { operation, summary, description, queryParameters, event } = route
  const ofQuery = Object.entries(queryParameters).map(([name, { schema, isRequired = false }]) => {
    return { ...optional(name, 'query', schema), required: isRequired }
  })
  const headers = headersOf([{ always: streamHeaders, maybe: { ...dataHeaders, ...rateLimitHeaders } }])
  const example = `event: ${event.type}\nid: ${event.id}\ndata: ${JSON.stringify(exampleOf(event.schema))}\n\n`
  const schema = {
    type: 'string',
    description: `Events whose data is a ${event.name} in JSON.`,
    contentMediaType: 'text/event-stream',
    contentSchema: { $ref: `#/components/schemas/${event.name}` },
  }
  return {
    operationId: operation,
    tags: ['live'],
    summary,
    description,
    parameters: [
      ...ofQuery,
      optional('Last-Event-ID', 'header', lastEventIdSchema),
      optional('Min-Data-Version', 'header', minDataVersionSchema),
    ],
    responses: {
      200: { description: `${summary}.`, headers, content: { 'text/event-stream': { schema, example } } },
      ...failures(route),
    },
  }
}

function templateOf({ path }: Route): string {
  return path.replace(/:(\w+)/g, '{$1}')
}

function operationOf(route: Route): object {
  const { operation, tag, summary, description } = route.documentation
  const ofPath = pathParameterNames(route.path).map(pathParameter)
  const ofQuery = Object.entries(route.queryParameters).map(([name, { schema }]) => optional(name, 'query', schema))
  return {
    operationId: operation,
    tags: [tag],
    summary,
    description,
    parameters: [
      ...ofPath,
      ...ofQuery,
      optional('If-None-Match', 'header', ifNoneMatchSchema),
      optional('Min-Data-Version', 'header', minDataVersionSchema),
    ],
    responses: { ...successes(route), ...failures(route) },
  }
}

function pathParameter(name: string): object {
  const schema = pathParameterSchemas[name]
  if (schema === undefined) throw new Error(`pathParameterSchemas has no schema of the path parameter ${name}.`)
  return { name, in: 'path', required: true, ...described(schema) }
}

/** Describes an optional parameter. Its example is in the schema; outside of it, the API page would prefill it. */
function optional(name: string, place: 'query' | 'header', { description, ...schema }: Schema): object {
  const commas = schema.type === 'array' ? { style: 'form', explode: false } : {}
  return { name, in: place, ...commas, description, schema }
}

/** Moves description and example out of the schema. */
function described({ description, examples, ...schema }: Schema): object {
  return { description, schema, example: examples?.[0] }
}

function successes({ documentation, queryParameters, past }: Route): object {
  const headers = headersOf([
    {
      always: { ...contentHeaders, ...(past === undefined ? resultHeaders : pastHeaders) },
      maybe: { ...dataHeaders, ...rateLimitHeaders, ...('cursor' in queryParameters ? paginationHeaders : {}) },
    },
  ])
  const one = { $ref: `#/components/schemas/${documentation.name}` }
  const example = exampleOf(documentation.isList ? list('', documentation.schema) : documentation.schema)
  const schema = documentation.isList ? { type: 'array', items: one } : one
  const csv = documentation.isTable === true ? { 'text/csv': csvContent(documentation.schema) } : {}
  return {
    200: {
      description: `${documentation.summary}.`,
      headers,
      content: { 'application/json': { schema, example }, ...csv },
    },
    304: { description: 'Not modified: the response with the given ETag is still current.', headers },
  }
}

type Kind = Refusal & { readonly code: ProblemCode; readonly status: number }

/** Returns the kinds of problems that a route may return, grouped by status. */
function failuresOf(route: DocumentedRoute): Kind[][] {
  const kinds = (Object.keys(problems) as ProblemCode[])
    .map((code): Kind => ({ code, status: problems[code].status, ...refusals[code] }))
    .filter(({ isOf }) => isOf(route))
  const statuses = [...new Set(kinds.map(({ status }) => status))]
  return statuses.map((requested) => kinds.filter(({ status }) => status === requested))
}

function failures(route: DocumentedRoute): object {
  const reference = (kinds: readonly Kind[]): [string, object] => [
    String(kinds[0]?.status),
    { $ref: `#/components/responses/${nameOf(kinds)}` },
  ]
  return Object.fromEntries(failuresOf(route).map(reference))
}

/** Returns the name of a response component, such as `BadRequestOrBadParameter`. */
function nameOf(kinds: readonly Kind[]): string {
  const words = kinds
    .map(({ code }) => code)
    .join('_OR_')
    .split('_')
  return words.map((word) => word.slice(0, 1) + word.slice(1).toLowerCase()).join('')
}

function failure(kinds: readonly Kind[]): object {
  const schema = { $ref: '#/components/schemas/Problem' }
  const examples = Object.fromEntries(kinds.map(({ code, when, example }) => [code, { summary: when, value: example }]))
  return {
    description: kinds.map(({ when }) => when).join(' '),
    headers: headersOf(kinds.map(headersOfProblem)),
    content: { 'application/problem+json': { schema, examples } },
  }
}

interface ResponseHeaders {
  readonly always: Headers
  readonly maybe: Headers
}

function headersOfProblem({ by, headers }: Refusal): ResponseHeaders {
  if (by === 'connection') return { always: headers, maybe: contentHeaders }
  return { always: { ...contentHeaders, ...headers }, maybe: by === 'path' ? rateLimitHeaders : {} }
}

/** Merges the headers of responses with the same status: a header is required if all have it. */
function headersOf(responses: readonly ResponseHeaders[]): object {
  const named = responses.flatMap(({ always, maybe }) => Object.entries({ ...always, ...maybe }))
  const isRequired = (name: string): boolean => responses.every(({ always }) => name in always)
  return Object.fromEntries(named.map(([name, schema]) => [name, { required: isRequired(name), ...described(schema) }]))
}
