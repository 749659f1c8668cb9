import fc from 'fast-check'
import type { Route } from '../../src/rest/route.ts'
import { routes } from '../../src/rest/routes.ts'
import { anyText, integerTexts, mostlyValid, timestampTexts, vaultAddresses } from './arbitraries.ts'
import { graphqlHeaders, type HttpRequest } from './client.ts'
import { documentsFor } from './documents.ts'

type Text = fc.Arbitrary<string>

const methods = mostlyValid(
  fc.constantFrom('GET', 'GET', 'GET', 'HEAD'),
  fc.constantFrom('OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY', 'get'),
)

/**
 * Generates HTTP requests to REST paths, GraphQL and other paths, with valid and invalid parameters, headers and
 * bodies.
 * @param knownVaults addresses of vaults that exist
 */
export function requestsFor(knownVaults: readonly string[]): fc.Arbitrary<HttpRequest> {
  const toPaths = fc.oneof(...routes.map((route) => targetOf(route, knownVaults)))
  const elsewhere = fc.oneof(
    fc.constantFrom(
      '/health',
      '/ready',
      '/openapi.json',
      '/docs',
      '/docs/',
      '/',
      '//',
      '*',
      '/graphql',
      '/favicon.ico',
    ),
    anyText.map((text) => `/${encodeURIComponent(text.toWellFormed())}`),
    anyText.map((text) => `/${text}`),
    fc.constantFrom('http://elsewhere.test/strategies', '/docs/../../package.json', '/strategies/', '/STRATEGIES'),
  )
  return fc.oneof(
    { weight: 10, arbitrary: fc.record({ method: methods, target: toPaths.map(escapeTarget), headers: headers() }) },
    { weight: 2, arbitrary: fc.record({ method: methods, target: elsewhere.map(escapeTarget), headers: headers() }) },
    { weight: 10, arbitrary: graphqlRequests(documentsFor(knownVaults), knownVaults) },
  )
}

/** Generates targets of a route: its path with an address, and query parameters. */
function targetOf({ path, queryParameters }: Route, knownVaults: readonly string[]): Text {
  const address = vaultAddresses(knownVaults).chain((text) =>
    fc.constantFrom(text, percentEncoded(text), encodeURIComponent(text.toWellFormed())),
  )
  const parameterTexts = Object.entries(queryParameters).map(([name, { variable }]) =>
    fc.option(
      valueOf(variable).map((value) => `${name}=${value}`),
      { nil: '', freq: 2 },
    ),
  )
  const other = fc.constantFrom(
    '',
    '',
    '',
    'x=1',
    '&&&',
    '=',
    'since',
    'limit=1&limit=2',
    '%',
    '?',
    '#',
    'type[]=deposit',
  )
  return fc.tuple(address, fc.tuple(...parameterTexts), other).map(([text, values, more]) => {
    const query = [...values, more].filter((part) => part !== '').join('&')
    return path.replace(':address', () => text) + (query === '' ? '' : `?${query}`)
  })
}

/** Generates values of a query parameter, by the variable that it sets. */
function valueOf(variable: string): Text {
  const types = fc.array(fc.constantFrom('deposit', 'withdraw', 'harvest', 'suspend', 'DEPOSIT', ''), { maxLength: 3 })
  if (variable === 'type')
    return mostlyValid(
      types.map((all) => all.join(',')),
      anyText,
    )
  if (variable === 'since' || variable === 'until') return timestampTexts
  if (variable === 'after') return fc.oneof(anyText, cursors)
  return integerTexts
}

const cursors = fc
  .oneof(
    fc.json(),
    fc.array(fc.oneof(fc.integer(), fc.string(), fc.double()), { maxLength: 4 }).map((all) => JSON.stringify(all)),
  )
  .map((text) => Buffer.from(text).toString('base64url'))

/** Percent-encodes every byte. */
function percentEncoded(text: string): string {
  return Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

/** Percent-encodes the characters that node:http does not send in a target: blanks, and those beyond Latin-1. */
function escapeTarget(target: string): string {
  return target.replace(/[^\u0021-\u00ff]/g, (character) => encodeURIComponent(character.toWellFormed()))
}

const headerChoices: Readonly<Record<string, readonly string[]>> = {
  accept: [
    '*/*',
    'application/json',
    'text/html',
    'application/graphql-response+json',
    'text/html;q=0',
    ',;=',
    'image/*',
  ],
  'accept-encoding': ['gzip', 'br', 'deflate, gzip;q=0.5', 'identity;q=0', '*;q=0', 'gzip;q=nine', ',,'],
  'if-none-match': ['*', '"x"', 'W/"x"', 'x', '"', ','.repeat(500)],
  'if-modified-since': ['Thu, 01 Jan 1970 00:00:00 GMT', 'yesterday'],
  range: ['bytes=0-1', 'bytes=9-1', 'lines=1'],
  authorization: ['Bearer', 'Bearer x', 'Basic eDp4', 'Bearer \u00ff'],
  origin: ['https://elsewhere.test', 'null', ''],
  'access-control-request-method': ['GET', 'DELETE', ''],
  'x-forwarded-for': ['1.2.3.4', '1.2.3.4, 5.6.7.8', 'not an address', '::1', ',,'],
  'x-request-id': ['mine', '', 'a'.repeat(65), 'a b', '\u00e9'],
  cookie: ['a=b', ';;;', 'x'.repeat(4_000)],
  host: ['localhost', 'elsewhere.test:1', '', '[::1', 'a b', 'a/b', 'a?b', 'a@b', '[::1]:80'],
  connection: ['close', 'keep-alive', 'upgrade', 'x'],
  upgrade: ['websocket', 'h2c'],
  expect: ['100-continue', 'the best'],
  'content-type': ['text/plain', 'application/json'],
  'x-padding': ['x'.repeat(9_000), 'x'.repeat(20_000)],
}

/** Generates up to four headers. */
function headers(): fc.Arbitrary<Record<string, string>> {
  const one = fc
    .constantFrom(...Object.keys(headerChoices))
    .chain((name) =>
      fc
        .oneof(
          { weight: 5, arbitrary: fc.constantFrom(...(headerChoices[name] ?? [])) },
          { weight: 1, arbitrary: fc.string({ maxLength: 40 }).map((text) => text.replace(/[^\t\x20-\x7e]/g, '')) },
        )
        .map((value) => [name, value] as const),
    )
  return fc.array(one, { maxLength: 4 }).map((all) => Object.fromEntries(all))
}

const operationNames = fc.constantFrom<unknown>(undefined, undefined, null, 'a', 'b', 'Snapshot', '', 7)

/**
 * Generates GraphQL requests with generated documents and those of REST paths, intact and corrupted, by POST and GET.
 */
function graphqlRequests(documents: Text, knownVaults: readonly string[]): fc.Arbitrary<HttpRequest> {
  const variables = fc.oneof(
    fc.record({
      address: vaultAddresses(knownVaults),
      first: fc.oneof(fc.integer(), fc.integer({ min: 1, max: 9 })),
      since: fc.nat(),
    }),
    fc.record({ address: fc.anything({ maxDepth: 1 }), type: fc.array(fc.constantFrom('DEPOSIT', 'deposit')) }),
    fc.jsonValue({ maxDepth: 3 }),
  )
  const routeDocuments = fc.constantFrom(...routes.map(({ document }) => document.text.toString()))
  const graphqlParameters = fc.oneof(
    { weight: 4, arbitrary: documents.map((query) => ({ query })) },
    { weight: 2, arbitrary: fc.record({ query: routeDocuments, variables }) },
    { weight: 1, arbitrary: fc.record({ query: documents, variables, operationName: operationNames }) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.oneof(documents, routeDocuments), corruptions)
        .map(([text, corruption]) => ({ query: corruption(text) })),
    },
    { weight: 1, arbitrary: anyText.map((query) => ({ query })) },
  )
  return fc.oneof(
    {
      weight: 8,
      arbitrary: fc
        .tuple(graphqlParameters, headers())
        .map(([parameters, more]) => postRequest(JSON.stringify(parameters), more)),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(graphqlParameters, methods).map(([parameters, method]) => queryRequest(parameters, method)),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(invalidBodies(graphqlParameters), types)
        .map(([body, type]) => postRequest(body, { 'content-type': type })),
    },
  )
}

function postRequest(body: string | Buffer, headers: Record<string, string>): HttpRequest {
  return { method: 'POST', target: '/graphql', headers: { ...graphqlHeaders, ...headers }, body }
}

function queryRequest(parameters: object, method: string): HttpRequest {
  return { method, target: `/graphql?${toQueryString(parameters)}`, headers: {} }
}

/** Formats parameters as a query string, with values other than text as JSON. */
function toQueryString(parameters: object): string {
  const entries = Object.entries(parameters).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value ?? null),
  ])
  return new URLSearchParams(entries).toString()
}

const types = fc.constantFrom(
  'application/json',
  'application/json; charset=utf-16',
  'application/graphql',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'multipart/form-data',
  'text/plain',
  ';',
  '',
)

/** Generates invalid bodies: batches, truncated JSON, forms, and random bytes. */
function invalidBodies(graphqlParameters: fc.Arbitrary<object>): fc.Arbitrary<string | Buffer> {
  return fc.oneof(
    fc.array(graphqlParameters, { maxLength: 3 }).map((all) => JSON.stringify(all)),
    fc.json(),
    graphqlParameters.map((parameters) => JSON.stringify(parameters).slice(0, -2)),
    graphqlParameters.map(
      (parameters) =>
        `--x\r\ncontent-disposition: form-data; name="operations"\r\n\r\n${JSON.stringify(parameters)}\r\n--x--`,
    ),
    graphqlParameters.map(toQueryString),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(
      '',
      '{',
      '[[[',
      'x'.repeat(70_000),
      `{"query":${'['.repeat(20_000)}`,
      `{"query":"${'x'.repeat(30_000)}"}`,
    ),
  )
}

/** Generates functions that corrupt a text. */
const corruptions: fc.Arbitrary<(text: string) => string> = fc
  .tuple(
    fc.constantFrom('truncate', 'delete', 'repeat', 'insert', 'rotate'),
    fc.double({ min: 0, max: 1, noNaN: true }),
    anyText,
  )
  .map(([corruption, share, text]) => (graphqlParameters: string) => {
    const at = Math.floor(share * graphqlParameters.length)
    if (corruption === 'truncate') return graphqlParameters.slice(0, at)
    if (corruption === 'delete') return graphqlParameters.slice(0, at) + graphqlParameters.slice(at + 3)
    if (corruption === 'repeat') return graphqlParameters.slice(0, at) + graphqlParameters.slice(Math.max(0, at - 9))
    if (corruption === 'insert') return graphqlParameters.slice(0, at) + text + graphqlParameters.slice(at)
    return graphqlParameters.slice(at) + graphqlParameters.slice(0, at)
  })
