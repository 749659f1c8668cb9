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
import { failing, hanging } from '../support/problem.ts'
import { apply, midnight, vaultA } from '../support/world.ts'

const vault = vaultThatIs.earning
/** The paths of the interface; those of streams are tested in test/http/live. */
const templates = Object.keys(paths).filter((path) => !path.startsWith('/live/'))

let database: TestDatabase
let gateway: TestGateway

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, everything)
  // As a vault is whose last mark was before history was kept.
  await database.prisma.$executeRawUnsafe(
    `update vault set history_since = null, marked_at = null, layout_digest = null where address = '${vaultThatIs.suspended}'`,
  )
  const versions = new DataVersions()
  versions.listening(true)
  versions.committed({ version: '5.5', newestTs: 5 })
  versions.upToDate(performance.now())
  gateway = gatewayOn(database, { versions })
})

async function lint(document: unknown): Promise<string[]> {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: { 'no-invalid-parameter-examples': 'error', 'no-invalid-schema-examples': 'error' },
  })
  const source = JSON.stringify(document)
  const found = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  return found.map(({ ruleId, message }) => `${ruleId}: ${message}`)
}

describe('the document', () => {
  test('is served as it is, with what every answer has', async () => {
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

  test('is for all, also where the data needs a key', async () => {
    const locked = gatewayOn(database, { apiKeys: ['a-key-of-this-test'] })
    expect((await locked.get('/openapi.json')).status).toBe(200)
    expect((await locked.get('/strategies')).status).toBe(401)
  })

  test('passes a strict linter, which finds what is wrong', async () => {
    expect(await lint(openapi)).toEqual([])
    const { '/strategies': _, ...rest } = openapi.paths
    const nameless = { ...rest, '/strategies': { get: { responses: { 200: { description: 'All.' } } } } }
    expect(await lint({ ...openapi, paths: nameless })).not.toEqual([])
    const schemas = { ...openapi.components.schemas, Strategy: { type: 'object', required: ['colour'] } }
    expect(await lint({ ...openapi, components: { ...openapi.components, schemas } })).not.toEqual([])
  })

  test('names the paths of the interface, which are the routes', () => {
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

describe('a parameter', () => {
  const parameters = routes.flatMap(({ path, queryParameters, document }) =>
    Object.entries(queryParameters).map(([name, parameter]) => ({ path, name, document: document.text, ...parameter })),
  )
  const bounded = parameters.filter(({ schema }) => schema.type === 'integer')

  test('has the default that its document has', () => {
    const told = parameters.map(({ path, name, schema }) => [path, name, schema.default])
    const meant = parameters.map(({ path, name, variable, document }) => [path, name, defaultOf(document, variable)])
    expect(told).toEqual(meant)
    expect(told).toContainEqual(['/vault/:address/equity', 'points', 500])
  })

  test.each(bounded)('of $path, $name, is bounded as the document says', async ({ path, name, schema }) => {
    const { minimum = NaN, maximum = NaN } = schema
    const ask = (value: number): Promise<Response> => gateway.get(`${path.replace(':address', vault)}?${name}=${value}`)
    // There was no vault at the beginning of time.
    for (const value of [minimum, maximum])
      expect((await ask(value)).status).toBe(name === 'at' && value === 0 ? 404 : 200)
    for (const value of [minimum - 1, maximum + 1]) {
      const refused = await ask(value)
      expect([refused.status, await refused.json()]).toEqual([400, expect.objectContaining({ parameter: name })])
    }
  })

  test('that has a list takes each of its values, and several with commas', async () => {
    const { schema, path, name } = parameters.find(({ schema }) => schema.type === 'array') as (typeof parameters)[0]
    const values = schema.items?.enum ?? []
    expect(values).toHaveLength(9)
    for (const value of [...values, values.join(',')]) {
      expect((await gateway.get(`${path.replace(':address', vault)}?${name}=${value}`)).status).toBe(200)
    }
  })
})

function defaultOf(document: { toString(): string }, variable: string): unknown {
  const [query] = parse(document.toString()).definitions
  if (query?.kind !== Kind.OPERATION_DEFINITION) throw new Error(`there is no query in ${document.toString()}`)
  const found = query.variableDefinitions?.find((each) => each.variable.name.value === variable)
  return found?.defaultValue && valueFromASTUntyped(found.defaultValue)
}

async function flaws(path: string, init?: RequestInit, from = gateway): Promise<{ status: number; flaws: string[] }> {
  const request = new Request(`http://gateway.test${path}`, init)
  const response = await from.app.fetch(request)
  return { status: response.status, flaws: await openapiViolations(request, response) }
}

describe('an answer is as the document says', () => {
  const asked = [
    ...Object.values(vaultThatIs).flatMap((address) => templates.map((path) => path.replace('{address}', address))),
    `/vault/${vault}/equity?points=2`,
    `/vault/${vault}/events?limit=1`,
  ]

  test.each([...new Set(asked)])('of %s', async (path) => {
    expect(await flaws(path)).toEqual({ status: 200, flaws: [] })
    expect(await flaws(path, { method: 'HEAD' })).toEqual({ status: 200, flaws: [] })
    expect(await flaws(path, { headers: { 'if-none-match': '*' } })).toEqual({ status: 304, flaws: [] })
    const limited = gatewayOn(database, { rateLimit: { requests: 1, seconds: 60 } })
    expect(await flaws(path, {}, limited)).toEqual({ status: 200, flaws: [] })
  })

  interface Provoked {
    readonly of: readonly string[]
    readonly query?: string
    readonly init?: RequestInit
    readonly gateway?: () => TestGateway
    readonly address?: string
  }
  const ofVaults = templates.filter((path) => path.includes('{address}'))
  const spent = (): TestGateway => gatewayOn(database, { rateLimit: { requests: 1, seconds: 60 } })
  const provoked: Partial<Record<ProblemCode, Provoked>> = {
    BAD_PARAMETER: { of: ofVaults, address: '0x12' },
    BAD_DATA_VERSION: { of: templates, init: { headers: { 'min-data-version': 'newest' } } },
    HISTORY_CHANGED: { of: templates, init: { headers: { 'min-data-version': '5.4' } } },
    // It takes the time that is waited.
    DATA_NOT_THERE_YET: { of: ['/universe'], init: { headers: { 'min-data-version': '6.6' } } },
    UNAUTHENTICATED: { of: templates, gateway: () => gatewayOn(database, { apiKeys: ['a-key-of-this-test'] }) },
    VAULT_NOT_FOUND: { of: ofVaults, address: vaultA },
    HISTORY_NOT_KEPT: {
      of: ['/vault/{address}/snapshot'],
      address: vaultThatIs.suspended,
      query: `?at=${midnight + 1}`,
    },
    METHOD_NOT_ALLOWED: { of: templates, init: { method: 'POST' } },
    TARGET_TOO_LONG: { of: templates, query: `?a=${'a'.repeat(100_000)}` },
    RATE_LIMITED: { of: templates, gateway: spent },
    HEADERS_TOO_LARGE: { of: templates, init: { headers: manyHeaders() } },
    INTERNAL: { of: templates, gateway: () => gatewayOn(failing(database)) },
    DATABASE_UNAVAILABLE: {
      of: templates,
      gateway: () => gatewayOn(failing(database, new DatabaseUnavailable('it is stopped'))),
    },
    OVERLOADED: {
      of: templates,
      gateway: () => gatewayOn(database, { limits: { ...defaultHttpLimits, responsesInProduction: 0 } }),
    },
    DEADLINE_EXCEEDED: {
      of: templates,
      gateway: () => gatewayOn(hanging(database), { limits: { ...defaultHttpLimits, answerSeconds: 0.01 } }),
    },
  }
  /** Problems sent where there is no request yet: the tests of the socket show them. */
  const bare: ProblemCode[] = ['BAD_REQUEST', 'REQUEST_TIMEOUT']

  test('and every problem that it names is provoked here', () => {
    const codes = Object.keys(problems) as ProblemCode[]
    const described = codes.filter((code) => routes.some((route) => refusals[code].isOf(route)))
    expect([...Object.keys(provoked), ...bare].sort()).toEqual(described.sort())
  })

  test.each(Object.entries(provoked))('of the problem %s', async (code, { of, query = '', init, ...given }) => {
    const { address = vault, gateway: make = () => gateway } = given
    for (const template of of) {
      const asked = make()
      const path = template.replace('{address}', address) + query
      if (code === 'RATE_LIMITED') await asked.get(path)
      const { status } = problems[code as ProblemCode]
      expect(await flaws(path, init, asked)).toEqual({ status, flaws: [] })
      const body = (await (await asked.get(path, init)).json()) as { type: string }
      expect(body.type).toBe(`urn:vault-gateway:problem:${code.toLowerCase().replaceAll('_', '-')}`)
    }
  })
})

describe('an answer that is not as the document says is told apart:', () => {
  const universe = new Request('http://gateway.test/universe/pairs')
  const pair = { a: 'A', b: 'B', venues: [], tvlUsd: 1, emissions: true }
  const told = { etag: '"a"', 'cache-control': 'no-cache', 'x-request-id': 'a' }
  const answer = (body: unknown, headers: Record<string, string> = {}, status = 200): Response =>
    Response.json(body, { status, headers: { ...told, ...headers } })

  test.each<[string, Response, string]>([
    ['a field more', answer([{ ...pair, colour: 'red' }]), 'additional properties'],
    ['a field less', answer([{ ...pair, tvlUsd: undefined }]), "required property 'tvlUsd'"],
    ['another type', answer([{ ...pair, tvlUsd: '1' }]), 'must be number'],
    ['null', answer([{ ...pair, a: null }]), 'must be string'],
    ['no list', answer({ pairs: [pair] }), 'must be array'],
    ['no ETag', Response.json([], { headers: { 'cache-control': 'no-cache' } }), 'ETag is missing'],
    ['a weak ETag', answer([], { etag: 'W/"a"' }), 'ETag  must match'],
    ['a header more', answer([], { allow: 'GET' }), 'allow is not described'],
    ['another status', answer([], {}, 418), 'status 418 is not described'],
    [
      'a body of another type',
      answer([], { 'content-type': 'text/plain' }),
      'the content type text/plain is not described',
    ],
  ])('%s', async (_, response, flaw) => {
    expect(await openapiViolations(universe, answer([pair]))).toEqual([])
    expect((await openapiViolations(universe, response)).join('\n')).toContain(flaw)
  })

  test('the path that a request asks is found', () => {
    expect(pathTemplateOf('/universe/pairs')).toBe('/universe/pairs')
    expect(pathTemplateOf(`/vault/${vault}/equity`)).toBe('/vault/{address}/equity')
    expect(pathTemplateOf('/universe/')).toBeNull()
  })
})

function manyHeaders(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`x-header-${index}`, 'x']))
}
