import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Kind, parse, valueFromASTUntyped } from 'graphql'
import { beforeAll, describe, expect, test } from 'vitest'
import { DatabaseUnavailable } from '../../src/database/errors.ts'
import { defaultHttpLimits } from '../../src/limits.ts'
import { DataVersions } from '../../src/http/cache/data-versions.ts'
import { openapi } from '../../src/rest/openapi/document.ts'
import { type ProblemCode, problems } from '../../src/rest/problem.ts'
import { refusals } from '../../src/rest/openapi/refusals.ts'
import { routes } from '../../src/rest/routes.ts'
import { openapiViolations, paths, pathTemplateOf } from '../support/openapi-conformance.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { everything, vaultThatIs } from '../support/everything.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { withNotifiedVersions } from '../support/notified-versions.ts'
import { failing, hanging } from '../support/problem.ts'
import { apply, midnight, vaultA } from '../support/world.ts'

const vault = vaultThatIs.earning
/** Paths of the interface, without streams, which are tested in test/http/live. */
const templates = Object.keys(paths).filter((path) => !path.startsWith('/live/'))

let database: TestDatabase
let gateway: TestGateway

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, everything)
  // As a vault whose last mark is older than the migration to history.
  await database.prisma.$executeRawUnsafe(
    `update vault set history_since = null, marked_at = null, layout_digest = null where address = '${vaultThatIs.suspended}'`,
  )
  const versions = new DataVersions()
  versions.listening(true)
  versions.committed({ version: '5.5', newestTs: 5 })
  versions.upToDate(performance.now())
  gateway = gatewayOn(
    withNotifiedVersions(database, () => versions),
    { versions },
  )
})

/** Returns the messages of Redocly's linter with strict rules. */
async function lint(document: unknown): Promise<string[]> {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: { 'no-invalid-parameter-examples': 'error', 'no-invalid-schema-examples': 'error' },
  })
  const source = JSON.stringify(document)
  const messages = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  return messages.map(({ ruleId, message }) => `${ruleId}: ${message}`)
}

describe('/openapi.json', () => {
  test('is served with the headers of every response', async () => {
    const response = await gateway.get('/openapi.json')
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('no-cache')
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(openapi)))
    const etag = response.headers.get('etag') ?? ''
    expect((await gateway.get('/openapi.json', { headers: { 'if-none-match': etag } })).status).toBe(304)
    const head = await gateway.get('/openapi.json', { method: 'HEAD' })
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, ''])
    expect((await gateway.get('/openapi.json', { method: 'OPTIONS' })).headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    expect((await gateway.get('/openapi.json', { method: 'PUT' })).status).toBe(405)
  })

  test('needs no API key, also if the data needs one', async () => {
    const locked = gatewayOn(database, { apiKeys: ['a-key-of-this-test'] })
    expect((await locked.get('/openapi.json')).status).toBe(200)
    expect((await locked.get('/strategies')).status).toBe(401)
  })

  test('passes a strict linter, which finds errors', async () => {
    expect(await lint(openapi)).toEqual([])
    const { '/strategies': _, ...rest } = openapi.paths
    const nameless = { ...rest, '/strategies': { get: { responses: { 200: { description: 'All.' } } } } }
    expect(await lint({ ...openapi, paths: nameless })).not.toEqual([])
    const schemas = { ...openapi.components.schemas, Strategy: { type: 'object', required: ['colour'] } }
    expect(await lint({ ...openapi, components: { ...openapi.components, schemas } })).not.toEqual([])
  })

  test('has the paths of the interface, which are those of the routes', () => {
    expect(templates).toEqual([
      '/vault/{address}/snapshot',
      '/vault/{address}/equity',
      '/vault/{address}/events',
      '/strategies',
      '/universe',
      '/universe/pairs',
    ])
    expect(routes.map(({ path }) => path.replace(':address', '{address}'))).toEqual(templates)
    expect(Object.keys(paths)).toEqual([...templates, '/live/vaults', '/live/events'])
  })
})

describe('a query parameter', () => {
  const parameters = routes.flatMap(({ path, queryParameters, document }) =>
    Object.entries(queryParameters).map(([name, parameter]) => ({ path, name, document: document.text, ...parameter })),
  )
  const integers = parameters.filter(({ schema }) => schema.type === 'integer')

  test('has the default of its GraphQL document', () => {
    const documented = parameters.map(({ path, name, schema }) => [path, name, schema.default])
    const actual = parameters.map(({ path, name, variable, document }) => [path, name, defaultOf(document, variable)])
    expect(documented).toEqual(actual)
    expect(documented).toContainEqual(['/vault/:address/equity', 'points', 500])
  })

  test.each(integers)('$name of $path has the limits of the document', async ({ path, name, schema }) => {
    const { minimum = NaN, maximum = NaN } = schema
    const request = (value: number): Promise<Response> =>
      gateway.get(`${path.replace(':address', vault)}?${name}=${value}`)
    // No vault existed at second 0.
    for (const value of [minimum, maximum])
      expect((await request(value)).status).toBe(name === 'at' && value === 0 ? 404 : 200)
    for (const value of [minimum - 1, maximum + 1]) {
      const refused = await request(value)
      expect([refused.status, await refused.json()]).toEqual([400, expect.objectContaining({ parameter: name })])
    }
  })

  test('with a list accepts each of its values, and several, separated by commas', async () => {
    const { schema, path, name } = parameters.find(({ schema }) => schema.type === 'array') as (typeof parameters)[0]
    const values = schema.items?.enum ?? []
    expect(values).toHaveLength(9)
    for (const value of [...values, values.join(',')]) {
      expect((await gateway.get(`${path.replace(':address', vault)}?${name}=${value}`)).status).toBe(200)
    }
  })
})

/** Returns the default of a variable of a GraphQL document; undefined if it has none. */
function defaultOf(document: { toString(): string }, variable: string): unknown {
  const [query] = parse(document.toString()).definitions
  if (query?.kind !== Kind.OPERATION_DEFINITION) throw new Error(`no query in ${document.toString()}`)
  const definition = query.variableDefinitions?.find((each) => each.variable.name.value === variable)
  return definition?.defaultValue && valueFromASTUntyped(definition.defaultValue)
}

/** Sends a request, and checks the response against the document. */
async function check(
  path: string,
  init?: RequestInit,
  from = gateway,
): Promise<{ status: number; violations: string[] }> {
  const request = new Request(`http://gateway.test${path}`, init)
  const response = await from.app.fetch(request)
  return { status: response.status, violations: await openapiViolations(request, response) }
}

describe('a response conforms to the document', () => {
  const valid = [
    ...Object.values(vaultThatIs).flatMap((address) => templates.map((path) => path.replace('{address}', address))),
    `/vault/${vault}/equity?points=2`,
    `/vault/${vault}/events?limit=1`,
  ]

  test.each([...new Set(valid)])('for %s', async (path) => {
    expect(await check(path)).toEqual({ status: 200, violations: [] })
    expect(await check(path, { method: 'HEAD' })).toEqual({ status: 200, violations: [] })
    expect(await check(path, { headers: { 'if-none-match': '*' } })).toEqual({ status: 304, violations: [] })
    const limited = gatewayOn(database, { rateLimit: { requests: 1, seconds: 60 } })
    expect(await check(path, {}, limited)).toEqual({ status: 200, violations: [] })
  })

  /** Requests that cause a problem. */
  interface Cause {
    readonly paths: readonly string[]
    readonly query?: string
    readonly init?: RequestInit
    readonly gateway?: () => TestGateway
    readonly address?: string
  }
  const vaultPaths = templates.filter((path) => path.includes('{address}'))
  const gatewayWithLimit = (): TestGateway => gatewayOn(database, { rateLimit: { requests: 1, seconds: 60 } })
  const causes: Partial<Record<ProblemCode, Cause>> = {
    BAD_PARAMETER: { paths: vaultPaths, address: '0x12' },
    BAD_DATA_VERSION: { paths: templates, init: { headers: { 'min-data-version': 'newest' } } },
    HISTORY_CHANGED: { paths: templates, init: { headers: { 'min-data-version': '5.4' } } },
    // One path only, since the gateway waits for the version before it answers.
    DATA_NOT_THERE_YET: { paths: ['/universe'], init: { headers: { 'min-data-version': '6.6' } } },
    UNAUTHENTICATED: { paths: templates, gateway: () => gatewayOn(database, { apiKeys: ['a-key-of-this-test'] }) },
    VAULT_NOT_FOUND: { paths: vaultPaths, address: vaultA },
    HISTORY_NOT_KEPT: {
      paths: ['/vault/{address}/snapshot'],
      address: vaultThatIs.suspended,
      query: `?at=${midnight + 1}`,
    },
    METHOD_NOT_ALLOWED: { paths: templates, init: { method: 'POST' } },
    TARGET_TOO_LONG: { paths: templates, query: `?a=${'a'.repeat(100_000)}` },
    RATE_LIMITED: { paths: templates, gateway: gatewayWithLimit },
    HEADERS_TOO_LARGE: { paths: templates, init: { headers: manyHeaders() } },
    INTERNAL: { paths: templates, gateway: () => gatewayOn(failing(database)) },
    DATABASE_UNAVAILABLE: {
      paths: templates,
      gateway: () => gatewayOn(failing(database, new DatabaseUnavailable('it is stopped'))),
    },
    OVERLOADED: {
      paths: templates,
      gateway: () => gatewayOn(database, { limits: { ...defaultHttpLimits, responsesInProduction: 0 } }),
    },
    DEADLINE_EXCEEDED: {
      paths: templates,
      gateway: () => gatewayOn(hanging(database), { limits: { ...defaultHttpLimits, answerSeconds: 0.01 } }),
    },
  }
  /** Problems of connections without a complete request, which are tested in test/http/server. */
  const connectionProblems: ProblemCode[] = ['BAD_REQUEST', 'REQUEST_TIMEOUT']

  test('and each described problem is tested', () => {
    const codes = Object.keys(problems) as ProblemCode[]
    const described = codes.filter((code) => routes.some((route) => refusals[code].isOf(route)))
    expect([...Object.keys(causes), ...connectionProblems].sort()).toEqual(described.sort())
  })

  test.each(Object.entries(causes))(
    'for the problem %s',
    async (code, { paths: causing, query = '', init, ...given }) => {
      const { address = vault, gateway: make = () => gateway } = given
      for (const template of causing) {
        const target = make()
        const path = template.replace('{address}', address) + query
        if (code === 'RATE_LIMITED') await target.get(path)
        const { status } = problems[code as ProblemCode]
        expect(await check(path, init, target)).toEqual({ status, violations: [] })
        const body = (await (await target.get(path, init)).json()) as { type: string }
        expect(body.type).toBe(`urn:vault-gateway:problem:${code.toLowerCase().replaceAll('_', '-')}`)
      }
    },
  )
})

describe('a response that does not conform is found:', () => {
  const universe = new Request('http://gateway.test/universe/pairs')
  const pair = { a: 'A', b: 'B', venues: [], tvlUsd: 1, emissions: true }
  const headersOfAll = { etag: '"a"', 'cache-control': 'no-cache', 'x-request-id': 'a' }
  const answer = (body: unknown, headers: Record<string, string> = {}, status = 200): Response =>
    Response.json(body, { status, headers: { ...headersOfAll, ...headers } })

  test.each<[string, Response, string]>([
    ['an additional field', answer([{ ...pair, colour: 'red' }]), 'additional properties'],
    ['a missing field', answer([{ ...pair, tvlUsd: undefined }]), "required property 'tvlUsd'"],
    ['another type', answer([{ ...pair, tvlUsd: '1' }]), 'must be number'],
    ['null', answer([{ ...pair, a: null }]), 'must be string'],
    ['no list', answer({ pairs: [pair] }), 'must be array'],
    ['no ETag', Response.json([], { headers: { 'cache-control': 'no-cache' } }), 'ETag is missing'],
    ['a weak ETag', answer([], { etag: 'W/"a"' }), 'ETag  must match'],
    ['an additional header', answer([], { allow: 'GET' }), 'allow is not described'],
    ['another status', answer([], {}, 418), 'status 418 is not described'],
    [
      'a body of another type',
      answer([], { 'content-type': 'text/plain' }),
      'the content type text/plain is not described',
    ],
  ])('%s', async (_, response, violation) => {
    expect(await openapiViolations(universe, answer([pair]))).toEqual([])
    expect((await openapiViolations(universe, response)).join('\n')).toContain(violation)
  })

  test('the path template of a request is found', () => {
    expect(pathTemplateOf('/universe/pairs')).toBe('/universe/pairs')
    expect(pathTemplateOf(`/vault/${vault}/equity`)).toBe('/vault/{address}/equity')
    expect(pathTemplateOf('/universe/')).toBeNull()
  })
})

function manyHeaders(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`x-header-${index}`, 'x']))
}
