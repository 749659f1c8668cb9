import fc from 'fast-check'
import type { Route } from '../../src/rest/route.ts'
import { routes } from '../../src/rest/routes.ts'
import type { Asked } from './client.ts'
import { documentsFor } from './documents.ts'
import { addresses, anyText, integers, mostly, times } from './values.ts'

type Text = fc.Arbitrary<string>

const methods = mostly(
  fc.constantFrom('GET', 'GET', 'GET', 'HEAD'),
  fc.constantFrom('OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY', 'get'),
)

/** Requests that are HTTP: to the paths, to GraphQL and to elsewhere, with anything that a client can be made to send. */
export function requestsFor(known: readonly string[]): fc.Arbitrary<Asked> {
  const toPaths = fc.oneof(...routes.map((route) => targetOf(route, known)))
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
    { weight: 10, arbitrary: fc.record({ method: methods, target: toPaths.map(sendable), headers: headers() }) },
    { weight: 2, arbitrary: fc.record({ method: methods, target: elsewhere.map(sendable), headers: headers() }) },
    { weight: 10, arbitrary: graphqlRequests(documentsFor(known), known) },
  )
}

function targetOf({ path, queryParameters }: Route, known: readonly string[]): Text {
  const address = addresses(known).chain((text) =>
    fc.constantFrom(text, escaped(text), encodeURIComponent(text.toWellFormed())),
  )
  const given = Object.entries(queryParameters).map(([name, { variable }]) =>
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
  return fc.tuple(address, fc.tuple(...given), other).map(([text, values, more]) => {
    const query = [...values, more].filter((part) => part !== '').join('&')
    return path.replace(':address', () => text) + (query === '' ? '' : `?${query}`)
  })
}

function valueOf(variable: string): Text {
  const types = fc.array(fc.constantFrom('deposit', 'withdraw', 'harvest', 'suspend', 'DEPOSIT', ''), { maxLength: 3 })
  if (variable === 'type')
    return mostly(
      types.map((all) => all.join(',')),
      anyText,
    )
  if (variable === 'since' || variable === 'until') return times
  if (variable === 'after') return fc.oneof(anyText, cursors)
  return integers
}

const cursors = fc
  .oneof(
    fc.json(),
    fc.array(fc.oneof(fc.integer(), fc.string(), fc.double()), { maxLength: 4 }).map((all) => JSON.stringify(all)),
  )
  .map((text) => Buffer.from(text).toString('base64url'))

/** Each byte as its escape: another spelling of the same. */
function escaped(text: string): string {
  return Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

/** Characters that a client can send on the request line: no blanks, nothing beyond Latin-1. */
function sendable(target: string): string {
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

/** GraphQL over HTTP: the schema's documents and the paths' own, whole and mutilated, by every way of sending them. */
function graphqlRequests(documents: Text, known: readonly string[]): fc.Arbitrary<Asked> {
  const variables = fc.oneof(
    fc.record({
      address: addresses(known),
      first: fc.oneof(fc.integer(), fc.integer({ min: 1, max: 9 })),
      since: fc.nat(),
    }),
    fc.record({ address: fc.anything({ maxDepth: 1 }), type: fc.array(fc.constantFrom('DEPOSIT', 'deposit')) }),
    fc.jsonValue({ maxDepth: 3 }),
  )
  const ofPaths = fc.constantFrom(...routes.map(({ document }) => document.text.toString()))
  const whole = fc.oneof(
    { weight: 4, arbitrary: documents.map((query) => ({ query })) },
    { weight: 2, arbitrary: fc.record({ query: ofPaths, variables }) },
    { weight: 1, arbitrary: fc.record({ query: documents, variables, operationName: operationNames }) },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.oneof(documents, ofPaths), slips).map(([text, slip]) => ({ query: slip(text) })),
    },
    { weight: 1, arbitrary: anyText.map((query) => ({ query })) },
  )
  return fc.oneof(
    { weight: 8, arbitrary: fc.tuple(whole, headers()).map(([said, more]) => posted(JSON.stringify(said), more)) },
    { weight: 2, arbitrary: fc.tuple(whole, methods).map(([said, method]) => asQuery(said, method)) },
    {
      weight: 2,
      arbitrary: fc.tuple(bodies(whole), types).map(([body, type]) => posted(body, { 'content-type': type })),
    },
  )
}

function posted(body: string | Buffer, headers: Record<string, string>): Asked {
  const graphql = { 'content-type': 'application/json', accept: 'application/graphql-response+json' }
  return { method: 'POST', target: '/graphql', headers: { ...graphql, ...headers }, body }
}

function asQuery(said: object, method: string): Asked {
  return { method, target: `/graphql?${inQuery(said)}`, headers: {} }
}

function inQuery(said: object): string {
  const entries = Object.entries(said).map(([name, value]): [string, string] => [
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

/** Bodies that are not what a client would send. */
function bodies(whole: fc.Arbitrary<object>): fc.Arbitrary<string | Buffer> {
  return fc.oneof(
    fc.array(whole, { maxLength: 3 }).map((all) => JSON.stringify(all)),
    fc.json(),
    whole.map((said) => JSON.stringify(said).slice(0, -2)),
    whole.map(
      (said) => `--x\r\ncontent-disposition: form-data; name="operations"\r\n\r\n${JSON.stringify(said)}\r\n--x--`,
    ),
    whole.map(inQuery),
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

/** Corruptions of a text. */
const slips: fc.Arbitrary<(text: string) => string> = fc
  .tuple(
    fc.constantFrom('cut', 'lose', 'repeat', 'insert', 'swap'),
    fc.double({ min: 0, max: 1, noNaN: true }),
    anyText,
  )
  .map(([slip, share, text]) => (whole: string) => {
    const at = Math.floor(share * whole.length)
    if (slip === 'cut') return whole.slice(0, at)
    if (slip === 'lose') return whole.slice(0, at) + whole.slice(at + 3)
    if (slip === 'repeat') return whole.slice(0, at) + whole.slice(Math.max(0, at - 9))
    if (slip === 'insert') return whole.slice(0, at) + text + whole.slice(at)
    return whole.slice(at) + whole.slice(0, at)
  })
