import { graphqlHeaders } from '../client.ts'
import { type AttackConnection, type Attacker, type GraphqlBody, pause } from './attacker.ts'
import {
  errorsDocument,
  fragmentsDocument,
  fragmentsOfFields,
  introspection,
  largeDocument,
  nestedOverlaps,
  overlappingDocument,
  repeat,
  uncached,
  uniqueName,
} from './documents.ts'
import { executions } from './executions.ts'

/** A kind of hostile request, or sequence of requests. */
export interface Attack {
  readonly name: string
  /** The work or the state of the gateway that it tries to exhaust. */
  readonly category: AttackCategory
  /** Number of connections when it is run by many; 16 by default. */
  readonly connections?: number
  /** Minimum number of runs by many connections, however long they take: shows memory that grows with each request. */
  readonly minRuns?: number
  /**
   * Whether many attackers have another address than the honest clients: the gateway serves addresses in turn, so that
   * only clients with the attackers' address wait.
   */
  readonly usesOtherAddress?: boolean
  /** Sends the requests: once by a single attacker, repeatedly until the end by many. */
  readonly run: (attacker: Attacker) => Promise<void>
}

/** Work or state of the gateway that an attack tries to exhaust. */
export type AttackCategory =
  | 'variable coercion'
  | 'long input lists'
  | 'caches keyed by operation name'
  | 'pipelined requests'
  | 'pages and assets'
  | 'counts of a long ledger'
  | 'caches keyed by arguments'
  | 'uncached documents'
  | 'field errors'
  | 'HTTP protocol'
  | 'large responses'
  | 'refused requests'

const defaultConnections = 16
export const connectionsOf = ({ connections = defaultConnections }: Attack): number => connections

const kilobytes = 1_000
/** Nearly the maximum size of a request body, with space for the JSON around a long value. */
const bodyBytes = 65_000

const vaultsWhere = 'query ($where: VaultWhere) { vaults(first: 1, where: $where) { totalCount } }'
const ledgerTypes = (address: string): string =>
  `query ($types: [EventType!]) { vault(address: "${address}") { events(first: 1, type: $types) { totalCount } } }`

const graphql =
  (body: (attacker: Attacker) => GraphqlBody): Attack['run'] =>
  (attacker) =>
    attacker.graphql(body(attacker))

/** Returns an object of a given JSON size, whose keys resemble `status` but are unknown. */
function unknownKeys(bytes: number): Record<string, number> {
  const entryBytes = '"statu0000":0,'.length
  return Object.fromEntries(
    Array.from({ length: Math.floor(bytes / entryBytes) }, (_, at) => [`statu${1_000 + at}`, 0]),
  )
}

const coercion: readonly Attack[] = [
  ...[35, 65].map((size): Attack => ({
    name: `unknown keys, ${size} KB`,
    category: 'variable coercion',
    run: graphql(() => ({
      query: vaultsWhere,
      variables: { where: unknownKeys(size * kilobytes - 300) },
    })),
  })),
  {
    name: 'invalid addresses',
    category: 'variable coercion',
    run: graphql(() => ({
      query: 'query ($owner: [Address!]) { vaults(where: { owner: $owner }) { totalCount } }',
      variables: { owner: Array.from({ length: 6_000 }, (_, at) => `0x${at}`) },
    })),
  },
  {
    name: 'valid addresses',
    category: 'variable coercion',
    run: graphql(() => ({
      query: 'query ($owner: [Address!]) { vaults(where: { owner: $owner }) { totalCount } }',
      variables: { owner: Array.from({ length: 1_400 }, (_, at) => `0x${String(at).padStart(40, '0')}`) },
    })),
  },
  {
    name: 'ids of past moments in 95 fields',
    category: 'variable coercion',
    run: graphql(() => ({
      query: `query ($ids: [ID!]!) { ${'nodes(ids: $ids) { id } '.repeat(95)} }`,
      variables: { ids: Array.from({ length: 860 }, (_, at) => `0x${String(at).padStart(40, '0')}@1`) },
    })),
  },
  {
    name: 'nested variables',
    category: 'variable coercion',
    run: async (attacker) => {
      const nestedText = (open: string, close: string): string => open.repeat(10_000) + close.repeat(10_000)
      for (const status of [nestedText('[', ']'), `${'{"status":'.repeat(5_000)}1${'}'.repeat(5_000)}`]) {
        const body = `{"query":${JSON.stringify(vaultsWhere)},"variables":{"where":{"status":${status}}}}`
        await attacker.send({ method: 'POST', target: '/graphql', headers: graphqlHeaders, body })
      }
    },
  },
  {
    name: 'huge values in variables',
    category: 'variable coercion',
    run: async (attacker) => {
      const query = 'query ($after: String, $first: Int!) { vaults(after: $after, first: $first) { totalCount } }'
      const digits = '9'.repeat(bodyBytes - 500)
      const values = [`{"after":"${digits}","first":1}`, `{"after":null,"first":${digits}}`, `{"first":1.5e308}`]
      for (const variables of values) {
        const body = `{"query":${JSON.stringify(query)},"variables":${variables}}`
        await attacker.send({ method: 'POST', target: '/graphql', headers: graphqlHeaders, body })
      }
    },
  },
  {
    name: 'undeclared variables',
    category: 'variable coercion',
    run: graphql(() => ({
      query: '{ strategies { id } }',
      variables: unknownKeys(bodyBytes - 300),
    })),
  },
  {
    name: 'undeclared variables of an event stream',
    category: 'variable coercion',
    run: async (attacker) => {
      const query = 'subscription { ledger { type } }'
      const body = JSON.stringify({ query, variables: unknownKeys(bodyBytes - 300) })
      const headers = { ...graphqlHeaders, accept: 'text/event-stream' }
      await attacker.send({ method: 'POST', target: '/graphql', headers, body })
    },
  },
]

const lists: readonly Attack[] = [
  {
    name: 'one type 700 times',
    category: 'long input lists',
    run: graphql(({ target }) => ({
      query: uncached(
        `{ vault(address: "${target.ledger}") { events(first: 1, type: [${repeat(700, () => 'HARVEST')}]) { totalCount } } }`,
      ),
    })),
  },
  {
    name: 'one type 5,000 times in variables',
    category: 'long input lists',
    run: graphql(({ target }) => ({
      query: ledgerTypes(target.ledger),
      variables: { types: Array.from({ length: 5_000 }, () => 'HARVEST') },
    })),
  },
  {
    name: 'types of 200 ledgers',
    category: 'long input lists',
    run: graphql(() => ({
      query:
        'query ($types: [EventType!]) { vaults(first: 200) { nodes { events(first: 1, type: $types) { totalCount } } } }',
      variables: { types: Array.from({ length: 5_000 }, () => 'HARVEST') },
    })),
  },
  {
    name: 'types of a REST path',
    category: 'long input lists',
    run: ({ target, get }) =>
      get(`/vault/${target.ledger}/events?limit=1000&type=${repeat(900, () => 'harvest', ',')}`),
  },
  {
    name: '7,000 statuses',
    category: 'long input lists',
    run: graphql(() => ({
      query: vaultsWhere,
      variables: { where: { status: Array.from({ length: 7_000 }, () => 'IDLE') } },
    })),
  },
  {
    name: '2,000 strategy ids',
    category: 'long input lists',
    run: graphql(() => ({
      query: vaultsWhere,
      variables: { where: { strategy: Array.from({ length: 2_000 }, uniqueName) } },
    })),
  },
  {
    name: '900 strategy ids inline',
    category: 'long input lists',
    run: graphql(() => ({
      query: uncached(`{ vaults(where: { strategy: [${repeat(900, (at) => `"${at}"`)}] }) { totalCount } }`),
    })),
  },
]

/** Sends a valid operation, then the same document, which is cached now, with unknown operation names. */
async function sendOperationNames(attacker: Attacker, name: () => string): Promise<void> {
  const query = '{ strategies { id } }'
  await attacker.graphql({ query })
  for (let sent = 0; sent < 10 && !attacker.hasEnded(); sent++) {
    await attacker.graphql({ query, operationName: name() })
  }
}

const operationNames: readonly Attack[] = [
  {
    name: 'operation names',
    category: 'caches keyed by operation name',
    minRuns: 200,
    run: (attacker) => sendOperationNames(attacker, uniqueName),
  },
  {
    name: 'operation names of 60 KB',
    category: 'caches keyed by operation name',
    minRuns: 200,
    run: (attacker) => sendOperationNames(attacker, () => uniqueName() + 'x'.repeat(60_000)),
  },
  {
    name: 'operation names by GET',
    category: 'caches keyed by operation name',
    run: ({ get }) =>
      get(
        `/graphql?query=${encodeURIComponent('query A { strategies { id } } query B { universe { screenedAt } }')}&operationName=${uniqueName()}${'x'.repeat(7_000)}`,
        { accept: graphqlHeaders.accept },
      ),
  },
]

const postRequest = (body: string): string =>
  `POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

/** Pipelines 1 MB of requests on a connection without reading responses; 16 MB if the attacker is alone. */
const pipelined = (name: string, request: (attacker: Attacker, index: number) => string): Attack => ({
  name: `pipelined ${name}`,
  category: 'pipelined requests',
  run: async (attacker) => {
    const connection = await attacker.open(false)
    let bytes = attacker.isAlone ? 16_000_000 : 1_000_000
    for (let index = 0; bytes > 0 && !attacker.hasEnded() && !connection.socket.destroyed;) {
      let chunk = ''
      while (chunk.length < 60_000) chunk += request(attacker, index++)
      bytes -= chunk.length
      await Promise.race([connection.write(chunk), attacker.ended])
    }
    await attacker.ended
  },
})

const pipelines: readonly Attack[] = [
  pipelined(
    'snapshots',
    ({ target }) => `GET /vault/${target.shortSeriesVaults[0] ?? ''}/snapshot HTTP/1.1\r\nhost: x\r\n\r\n`,
  ),
  pipelined(
    'ledgers',
    ({ target }, at) => `GET /vault/${target.ledger}/events?since=${at} HTTP/1.1\r\nhost: x\r\n\r\n`,
  ),
  pipelined('GraphQL', (_, at) =>
    postRequest(
      JSON.stringify({
        query: `{ vaults(first: 200) { nodes { owner strategyId netUsd events(first: 3) { nodes { ts } } } } } # ${at % 7}`,
      }),
    ),
  ),
  pipelined('counts', ({ target }, at) =>
    postRequest(
      JSON.stringify({
        query:
          'query ($a: Address!, $s: UnixTime) { vault(address: $a) { events(first: 1, since: $s) { totalCount } } }',
        variables: { a: target.ledger, s: at },
      }),
    ),
  ),
  pipelined('new documents', () => postRequest(JSON.stringify({ query: uncached('{ strategies { id } }') }))),
  pipelined('refused requests', () => postRequest('{"query":1}')),
  pipelined('unknown paths', (_, at) => `GET /nowhere/${at} HTTP/1.1\r\nhost: x\r\n\r\n`),
  pipelined('probes', (_, at) => `GET ${at % 2 === 0 ? '/ready' : '/metrics'} HTTP/1.1\r\nhost: x\r\n\r\n`),
]

const unreadConnections = 60

/** Pipelines requests without reading the responses. */
const unread = (
  name: string,
  category: AttackCategory,
  request: (attacker: Attacker, index: number) => string,
  perConnection = 20,
): Attack => ({
  name: `${name}, unread`,
  category,
  connections: unreadConnections,
  run: async (attacker) => {
    const connection = await attacker.open(false)
    await Promise.race([
      connection.write(repeat(perConnection, (index) => request(attacker, index), '')),
      attacker.ended,
    ])
    await attacker.ended
  },
})

const encodings = ['br', 'gzip', 'identity', 'gzip;q=0.5, br;q=0.1', 'deflate, *']
const getRequest = (target: string, headers = ''): string => `GET ${target} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`
const assets = ['/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css', '/docs', '/openapi.json', '/docs/start.js']

const pagesAndAssets: readonly Attack[] = [
  unread('GraphiQL', 'pages and assets', () => getRequest('/graphql', 'accept: text/html\r\n'), 5),
  unread(
    'GraphiQL, links',
    'pages and assets',
    () => getRequest(`/graphql?query=${uniqueName()}`, 'accept: text/html\r\n'),
    5,
  ),
  unread('assets', 'pages and assets', (_, at) => getRequest(assets[at % 2] ?? ''), 5),
  {
    name: 'GraphiQL in each encoding',
    category: 'pages and assets',
    run: async ({ get }) => {
      for (const encoding of encodings) await get('/graphql', { accept: 'text/html', 'accept-encoding': encoding })
    },
  },
  {
    name: 'assets in each encoding',
    category: 'pages and assets',
    run: async ({ get }) => {
      for (const encoding of encodings) {
        for (const asset of assets) await get(asset, { 'accept-encoding': encoding })
      }
    },
  },
  {
    name: 'assets with parameters',
    category: 'pages and assets',
    run: ({ get }) => get(`/docs/swagger-ui-bundle.js?${uniqueName()}`, { 'accept-encoding': 'br' }),
  },
]

const probes: readonly Attack[] = ['/metrics', '/ready', '/health'].map((path) => ({
  name: `probes of ${path}`,
  category: 'pages and assets',
  run: ({ get }) => get(path),
}))

const counts: readonly Attack[] = [
  {
    name: 'count of the long ledger',
    category: 'counts of a long ledger',
    run: graphql(({ target }) => ({
      query: 'query ($a: Address!, $s: UnixTime) { vault(address: $a) { events(first: 1, since: $s) { totalCount } } }',
      variables: { a: target.ledger, s: Math.floor(Math.random() * 1e6) },
    })),
  },
  {
    name: 'counts in 50 windows',
    category: 'counts of a long ledger',
    run: graphql(({ target }) => ({
      query: uncached(
        `{ vault(address: "${target.ledger}") { ${repeat(50, (at) => `a${at}: events(first: 1, since: ${at}, until: ${2e9 + at}, type: [HARVEST, REBALANCE, PLANT]) { totalCount }`)} } }`,
      ),
    })),
  },
  {
    name: 'counts in nested lists',
    category: 'counts of a long ledger',
    run: graphql(() => ({
      query: uncached(
        '{ strategies { vaults(first: 20) { totalCount nodes { events(first: 1) { totalCount } strategy { vaults(first: 2) { totalCount nodes { events(first: 2) { totalCount } } } } } } } }',
      ),
    })),
  },
]

const randomTime = (): number => 1_700_006_400 + Math.floor(Math.random() * 12_000_000)

const argumentVariations: readonly Attack[] = [
  {
    name: 'filters of 990 ids on 40 pages',
    category: 'caches keyed by arguments',
    run: graphql(() => ({
      query: `query ($w: VaultWhere) { ${repeat(40, (at) => `a${at}: vaults(first: ${at + 1}) { ...p }`)} }
        fragment p on VaultConnection { nodes { strategy { ${repeat(33, () => 'vaults(where: $w) { totalCount }')} } } }`,
      variables: { w: { strategy: Array.from({ length: 990 }, (_, at) => `s${at}`) } },
    })),
  },
  {
    name: '20 pairs at 20 venues',
    category: 'long input lists',
    run: graphql(() => ({
      query: uncached(
        'query ($w: VaultWhere) { vaults(first: 1, orderBy: { field: NET_USD }, where: $w) { totalCount nodes { id } } }',
      ),
      variables: {
        w: {
          pair: Array.from({ length: 20 }, (_, at) => ({ a: `A${at}`, b: 'B' })),
          venue: Array.from({ length: 20 }, (_, at) => ['uniswap-v3', 'aerodrome'][at] ?? `v${at}`),
        },
      },
    })),
  },
  {
    name: 'filters of 60 KB',
    category: 'caches keyed by arguments',
    minRuns: 1_200,
    run: graphql(() => ({
      query: 'query ($where: VaultWhere) { vaults(first: 1, where: $where) { nodes { netUsd } } }',
      variables: { where: { strategy: Array.from({ length: 150 }, () => uniqueName() + 'x'.repeat(380)) } },
    })),
  },
  {
    name: 'windows of a ledger',
    category: 'caches keyed by arguments',
    run: ({ target, get }) => get(`/vault/${target.ledger}/events?limit=1&since=${randomTime() % 1_000_000}`),
  },
  {
    name: 'windows of the longest series',
    category: 'caches keyed by arguments',
    run: ({ target, get }) => {
      const [since, until] = [randomTime(), randomTime()].sort()
      return get(
        `/vault/${target.longSeriesVaults[0] ?? ''}/equity?points=2000&since=${since ?? 0}&until=${until ?? 0}`,
      )
    },
  },
  {
    name: 'past states of a vault',
    category: 'caches keyed by arguments',
    run: ({ target, get }) => get(`/vault/${target.longSeriesVaults[0] ?? ''}/snapshot?at=${randomTime()}`),
  },
  {
    name: 'unknown vaults',
    category: 'caches keyed by arguments',
    run: ({ get }) =>
      get(`/vault/0x${repeat(5, () => String(Math.random()).slice(2, 10).padEnd(8, '1'), '')}/snapshot`),
  },
  {
    name: 'percent-encodings of a vault',
    category: 'caches keyed by arguments',
    run: ({ target, get }) => {
      const escapedAddress = [...target.ledger].map((each) =>
        Math.random() < 0.5 ? each : `%${each.charCodeAt(0).toString(16)}`,
      )
      return get(`/vault/${escapedAddress.join('')}/events?limit=1000`)
    },
  },
  {
    name: 'Accept headers of GraphQL',
    category: 'caches keyed by arguments',
    run: (attacker) =>
      attacker.send({
        method: 'POST',
        target: `/graphql?${uniqueName()}`,
        headers: { ...graphqlHeaders, accept: `application/json;x="${uniqueName()}${'x'.repeat(900)}"` },
        body: JSON.stringify({ query: '{ strategies { id } }' }),
      }),
  },
  {
    name: 'thousands of media ranges',
    category: 'caches keyed by arguments',
    run: (attacker) =>
      attacker.send({
        method: 'POST',
        target: `/graphql?${uniqueName()}`,
        headers: { ...graphqlHeaders, accept: `${'a/b,'.repeat(3_500)}a/b` },
        body: JSON.stringify({ query: '{ strategies { id } }' }),
      }),
  },
]

const newDocument = (
  name: string,
  query: (attacker: Attacker) => string,
  connections = defaultConnections,
): Attack => ({
  name,
  category: 'uncached documents',
  connections,
  run: graphql((attacker) => ({ query: query(attacker) })),
})

const documents: readonly Attack[] = [
  { ...newDocument('fields in fragments of fragments', fragmentsOfFields), minRuns: 200 },
  newDocument('large documents', ({ target }) => largeDocument(target.shortSeriesVaults[0] ?? ''), 150),
  newDocument('documents of fragments', fragmentsDocument, 150),
  newDocument('overlapping selections', () => overlappingDocument(false)),
  newDocument('conflicting selections', () => overlappingDocument(true), 150),
  newDocument('nested overlaps', nestedOverlaps),
  newDocument('documents of errors', errorsDocument, 150),
  newDocument('unknown keys inline', () =>
    uncached(`{ vaults(where: { ${repeat(320, (at) => `statu${at}: 1`)} }) { totalCount } }`),
  ),
  newDocument('invalid addresses inline', () =>
    uncached(`{ vaults(where: { owner: [${repeat(900, (at) => `"0x${at}"`)}] }) { totalCount } }`),
  ),
  newDocument('fragment cycles', () =>
    uncached(
      `{ strategies { ...f0 } } ${repeat(90, (at) => `fragment f${at} on Strategy { id ...f${(at + 1) % 90} ...f${(at + 7) % 90} }`)}`,
    ),
  ),
  newDocument('variables of a document', () =>
    uncached(`query (${repeat(150, (at) => `$v${at}: VaultWhere = {}`)}) { strategies { id } }`),
  ),
  newDocument('operations of a document', () => uncached(repeat(190, (at) => `query q${at} { __typename }`))),
  newDocument('introspection', () => uncached(introspection)),
  newDocument('introspection, aliased', () =>
    uncached(`{ ${repeat(15, (at) => `a${at}: __schema { types { fields { name args { name } } } }`)} }`),
  ),
  newDocument('aliases', ({ target }) =>
    uncached(
      `{ ${repeat(50, (at) => `a${at}: vault(address: "${target.longSeriesVaults[at % target.longSeriesVaults.length] ?? ''}") { netUsd }`)} }`,
    ),
  ),
  newDocument('directives', () => uncached(`{ strategies { ${repeat(50, () => 'id @include(if: true)')} } }`)),
  newDocument('directives over the limit', () =>
    uncached(`{ strategies { id ${'@include(if: true) '.repeat(160)} } }`),
  ),
  newDocument('type names', () => uncached(`{ ${'__typename '.repeat(990)} }`)),
  newDocument('selection sets, deep', () => uncached(`${'{ a '.repeat(330)}${'}'.repeat(330)}`)),
  newDocument('strings', () => uncached(`{ vaults(after: "${'\\u0041'.repeat(3_000)}") { totalCount } }`)),
  newDocument('documents of 60 KB', () => uncached(`{ strategies { id } } ${'#'.repeat(60_000)}`)),
  newDocument('unclosed braces', () => uncached('{ '.repeat(15_000))),
]

const refusals: readonly Attack[] = [
  {
    name: 'invalid cursors',
    category: 'refused requests',
    run: async (attacker) => {
      const { target } = attacker
      const deep = Buffer.from('['.repeat(20_000)).toString('base64url')
      for (const after of ['x'.repeat(60_000), deep, '\u0000', Buffer.from('[1,2,3]').toString('base64url')]) {
        const query = `query ($a: Address!, $c: String) { vault(address: $a) { events(after: $c) { totalCount } } vaults(after: $c) { totalCount } }`
        await attacker.graphql({ query, variables: { a: target.ledger, c: after } })
      }
      const least = Buffer.from(`[${Number.MIN_SAFE_INTEGER},0,"0x${'a'.repeat(64)}"]`).toString('base64url')
      for (const cursor of ['W'.repeat(8_000), least]) {
        await attacker.get(`/vault/${target.ledger}/events?cursor=${cursor}`)
      }
    },
  },
  {
    name: 'numbers out of range',
    category: 'refused requests',
    run: async (attacker) => {
      for (const first of ['2147483647', '-2147483648', '1.5', '1e400', '99999999999999999999']) {
        await attacker.graphql({
          query: uncached(`{ vaults(first: ${first}) { nodes { events(first: ${first}) { totalCount } } } }`),
        })
      }
      await attacker.get(`/vault/${attacker.target.ledger}/equity?points=${'9'.repeat(7_000)}`)
    },
  },
  {
    name: 'NUL characters',
    category: 'refused requests',
    run: async (attacker) => {
      await attacker.graphql({ query: vaultsWhere, variables: { where: { strategy: ['\u0000', '\ud800'] } } })
      await attacker.get('/vault/%00/snapshot')
    },
  },
  {
    name: 'unknown paths',
    category: 'refused requests',
    run: ({ get }) => get(`/${uniqueName()}/${'a/'.repeat(2_000)}`),
  },
  {
    name: 'thousands of parameters',
    category: 'refused requests',
    run: async ({ get, target }) => {
      await get(`/vault/${target.ledger}/events?${repeat(2_000, (at) => `a${at}`, '&')}`)
      await get(`/vault/${target.ledger}/events?${repeat(1_300, () => 'limit', '&')}`)
      await get(`/graphql?query=x${repeat(1_300, () => 'limit', '&')}`, { accept: graphqlHeaders.accept })
    },
  },
  {
    name: 'percent-encoding errors',
    category: 'refused requests',
    run: async ({ get }) => {
      await get(`/vault/${'%ff'.repeat(2_500)}/snapshot?since=${'%'.repeat(400)}`)
      await get(`/vault/${'%61'.repeat(2_500)}/snapshot`)
    },
  },
  {
    name: 'HEAD and OPTIONS',
    category: 'refused requests',
    run: async (attacker) => {
      const { target } = attacker
      for (const method of ['HEAD', 'OPTIONS', 'DELETE']) {
        await attacker.send({
          method,
          target: `/vault/${target.ledger}/events?limit=1000&since=${randomTime() % 1_000_000}`,
        })
        await attacker.send({ method, target: '/graphql' })
      }
    },
  },
]

const longAlias = (characters: number): string => 'a'.repeat(characters)

const largeResponses: readonly Attack[] = [
  unread('300 KB, cached', 'large responses', ({ target }) => getRequest(`/vault/${target.ledger}/events?limit=1000`)),
  unread('300 KB, uncached', 'large responses', ({ target }) =>
    getRequest(`/vault/${target.ledger}/events?limit=1000&since=${randomTime() % 1_000_000}`),
  ),
  {
    name: '300 KB, compressed each time',
    category: 'large responses',
    run: ({ target, get }) =>
      get(`/vault/${target.ledger}/events?limit=1000&since=${randomTime() % 1_000_000}`, { 'accept-encoding': 'br' }),
  },
  {
    name: 'aliases of the maximum length',
    category: 'large responses',
    run: graphql(({ target }) => ({
      query: uncached(
        `{ vault(address: "${target.longSeriesVaults[0]}") { equity(points: 2000) { ${longAlias(100)}: ts } } }`,
      ),
    })),
  },
  {
    name: 'aliases of 19,000 characters',
    category: 'refused requests',
    run: graphql(({ target }) => ({
      query: uncached(
        `{ vault(address: "${target.longSeriesVaults[0]}") { equity(points: 2000) { ${longAlias(19_000)}: ts } } }`,
      ),
    })),
  },
  {
    name: 'responses abandoned at once',
    category: 'large responses',
    run: async (attacker) => {
      const connection = await attacker.open(true)
      await connection.write(
        getRequest(`/vault/${attacker.target.ledger}/events?limit=1000&since=${randomTime() % 1_000_000}`),
      )
      await pause(attacker, 5)
      connection.socket.destroy()
    },
  },
]

/** Opens a connection for each run, on which the attack writes raw bytes and responses are read. */
const onOwnConnection = (
  name: string,
  run: (attacker: Attacker, connection: AttackConnection) => Promise<void>,
): Attack => ({
  name,
  category: 'HTTP protocol',
  run: async (attacker) => {
    const connection = await attacker.open(true)
    await run(attacker, connection)
    connection.socket.destroy()
  },
})

/** Time for a response on a raw connection. */
const responseMilliseconds = 50
const openConnections = 40
/** Invalid requests without Host: about 64 KB, the size of one read from a socket. */
const withoutHost = 'GET / HTTP/1.1\r\n\r\n'.repeat(3_600)

/**
 * Opens connections that each send one request, and then all write a large input at the same time.
 * @param firstRequest returns that request; a stream stays open during the input
 */
function onOpenConnections(
  name: string,
  bytes: string,
  firstRequest: (attacker: Attacker) => string = () => getRequest('/health'),
): Attack {
  return {
    name,
    category: 'HTTP protocol',
    usesOtherAddress: true,
    async run(attacker) {
      const connections = await Promise.all(
        Array.from({ length: attacker.isAlone ? 1 : openConnections }, () => attacker.open(true)),
      )
      for (const { write } of connections) await write(firstRequest(attacker))
      await pause(attacker, 100)
      await Promise.race([Promise.all(connections.map(({ write }) => write(bytes))), pause(attacker, 300)])
      await pause(attacker, 100)
      for (const { socket } of connections) socket.destroy()
    },
  }
}

const http: readonly Attack[] = [
  onOwnConnection('slow headers', async (attacker, { write }) => {
    await write('GET /strategies HTTP/1.1\r\nhost: x\r\n')
    while (!attacker.hasEnded()) {
      await write('x-a: a\r\n')
      await pause(attacker, 200)
    }
  }),
  onOwnConnection('slow bodies', async (attacker, { write }) => {
    await write('POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n')
    while (!attacker.hasEnded()) {
      await write('x')
      await pause(attacker, 20)
    }
  }),
  onOwnConnection('chunks of one byte', async (attacker, { write }) => {
    await write(
      'POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    await write('1\r\nx\r\n'.repeat(60_000))
    await write('0\r\n\r\n')
    await pause(attacker, responseMilliseconds)
  }),
  onOpenConnections(
    'chunks on open connections',
    `POST /graphql HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(10_800)}`,
  ),
  onOpenConnections('pipelines on open connections', getRequest('/vault/0x00/snapshot').repeat(1_000)),
  onOpenConnections(
    'headers on open connections',
    `GET /health HTTP/1.1\r\nhost: x\r\n${'a:b\r\n'.repeat(90)}\r\n`.repeat(100),
  ),
  onOpenConnections('no Host on open connections', withoutHost),
  onOpenConnections('no Host behind streams', withoutHost, ({ target }) =>
    getRequest(`/live/vaults?vault=${target.shortSeriesVaults[0] ?? ''}`),
  ),
  onOwnConnection('chunk extensions', async (attacker, { write }) => {
    await write(
      'POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    await write(`1;${'x'.repeat(1_000_000)}\r\nx\r\n0\r\n\r\n`)
    await pause(attacker, responseMilliseconds)
  }),
  onOwnConnection('trailers', async (attacker, { write }) => {
    await write(
      'POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    await write(`0\r\n${repeat(5_000, (at) => `x-${at}: ${at}\r\n`, '')}\r\n`)
    await pause(attacker, responseMilliseconds)
  }),
  onOwnConnection('bodies over the limit', async (attacker, { write }) => {
    await write(
      'POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    for (let sent = 0; sent < 50 && !attacker.hasEnded(); sent++) {
      await Promise.race([write(`ffff\r\n${'x'.repeat(65_535)}\r\n`), pause(attacker, 1_000)])
    }
  }),
  onOwnConnection('bodies of a GET', async (attacker, { write }) => {
    await write(`GET /strategies HTTP/1.1\r\nhost: x\r\ncontent-length: 8000000\r\n\r\n${'x'.repeat(8_000_000)}`)
    await pause(attacker, responseMilliseconds)
  }),
  onOwnConnection('many headers', async (attacker, { write }) => {
    await write(`GET /strategies HTTP/1.1\r\nhost: x\r\n${repeat(2_000, (at) => `a${at}:\r\n`, '')}\r\n`)
    await pause(attacker, responseMilliseconds)
  }),
  onOwnConnection('header bombs', async (attacker, { write }) => {
    await write(`GET /strategies HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(2_000_000)}`)
    await pause(attacker, responseMilliseconds)
  }),
  onOwnConnection('half-closed', async (attacker, { write, socket }) => {
    await write(getRequest(`/vault/${attacker.target.ledger}/events?limit=1000&since=${randomTime() % 1_000_000}`))
    socket.end()
    await pause(attacker, responseMilliseconds)
  }),
  onOwnConnection('unknown HTTP methods', async (attacker, { write }) => {
    await write(`${'X'.repeat(4_000)} /strategies HTTP/1.1\r\nhost: x\r\n\r\n`)
    await pause(attacker, responseMilliseconds)
  }),
  {
    name: 'connections left open',
    category: 'HTTP protocol',
    run: async (attacker) => {
      for (let opened = 0; opened < (attacker.isAlone ? 500 : 100) && !attacker.hasEnded(); opened++) {
        await attacker.open(false).then(({ write }) => write('GET /strategies HTTP/1.1\r\nhost'))
      }
      await attacker.ended
    },
  },
  {
    name: 'connections closed at once',
    category: 'HTTP protocol',
    usesOtherAddress: true,
    run: async (attacker) => {
      const { shortSeriesVaults } = attacker.target
      const whole = getRequest(`/vault/${shortSeriesVaults[0] ?? ''}/snapshot`)
      for (const bytes of ['', whole.slice(0, 20), whole, whole.repeat(10)]) {
        const { socket, write } = await attacker.open(false)
        if (bytes !== '') await write(bytes)
        socket.resetAndDestroy()
      }
    },
  },
  {
    name: 'long lists in headers',
    category: 'HTTP protocol',
    run: async (attacker) => {
      const { target, get } = attacker
      const fill = (part: string): string => part.repeat(Math.floor(8_000 / part.length))
      const path = `/vault/${target.shortSeriesVaults[0] ?? ''}/equity`
      await get(path, { 'if-none-match': fill('"a",') })
      await get(path, { 'if-none-match': fill('W/"') })
      await get(path, { 'accept-encoding': fill('br;q=0,') })
      await get(path, { 'accept-encoding': fill('a;q=0.1,') })
      await get(path, { 'x-forwarded-for': fill('1,') })
      await get(path, { 'x-request-id': fill('a') })
      await get(path, { authorization: `Bearer${fill(' ')}` })
      await get('/graphql?query={__typename}', { accept: fill('a/b;q=0.1,') })
      await get('/graphql?query={__typename}', { accept: fill('application/json;') })
      await attacker.send({
        method: 'POST',
        target: '/graphql',
        headers: { 'content-type': `application/json;${fill('a=b;')}`, accept: fill('*/*,') },
        body: '{"query":"{__typename}"}',
      })
    },
  },
  {
    name: 'long Host headers',
    category: 'HTTP protocol',
    run: ({ get }) => get('/strategies', { host: `${uniqueName()}${'x'.repeat(8_000)}` }),
  },
]

/** All attacks, in the order in which they run. */
export const attacks: readonly Attack[] = [
  ...coercion,
  ...lists,
  ...operationNames,
  ...pipelines,
  ...pagesAndAssets,
  ...probes,
  ...counts,
  ...argumentVariations,
  ...documents,
  ...executions,
  ...refusals,
  ...largeResponses,
  ...http,
]
