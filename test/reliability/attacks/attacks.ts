import { type Attacker, type GraphqlBody, jsonHeaders, pause } from './attacker.ts'
import { executions } from './executions.ts'
import {
  errorsDocument,
  fragmentsDocument,
  fragmentsOfFields,
  introspection,
  largeDocument,
  nestedOverlaps,
  never,
  overlappingDocument,
  times,
  unique,
} from './documents.ts'

/** A shape of attack. */
export interface Attack {
  readonly name: string
  /** Which work or state it aims at. */
  readonly fault: Fault
  /** How many connections carry it out where it isn't alone; 16 unless said. */
  readonly connections?: number
  /** How often it is carried out by many at least, however long that takes: what grows with each request shows itself. */
  readonly atLeast?: number
  /**
   * Whether many come from another address than the honest clients: the gateway serves addresses in turn, and only
   * clients of the attackers' own address wait behind them.
   */
  readonly isFromElsewhere?: boolean
  /** Carried out once by an attacker alone; by many, again and again until their time is over. */
  readonly carryOut: (attacker: Attacker) => Promise<void>
}

export type Fault =
  | 'coercion of variables'
  | 'lists of inputs'
  | 'state by operation name'
  | 'pipelined requests'
  | 'pages and assets'
  | 'counts of a long ledger'
  | 'state by arguments'
  | 'documents never asked'
  | 'errors of fields'
  | 'HTTP itself'
  | 'large answers'
  | 'refusals'

const defaultConnections = 16
export const connectionsOf = ({ connections = defaultConnections }: Attack): number => connections

const kilobytes = 1_000
/** Bytes that a body may have, less what is around what fills it. */
const bodyBytes = 65_000

const vaultsWhere = 'query ($where: VaultWhere) { vaults(first: 1, where: $where) { totalCount } }'
const ledgerTypes = (address: string): string =>
  `query ($types: [EventType!]) { vault(address: "${address}") { events(first: 1, type: $types) { totalCount } } }`

const graphql =
  (body: (attacker: Attacker) => GraphqlBody): Attack['carryOut'] =>
  (attacker) =>
    attacker.graphql(body(attacker))

/** An object of keys that no input has, of so many bytes. */
function unknownKeys(bytes: number): Record<string, number> {
  const each = '"statu0000":0,'.length
  return Object.fromEntries(Array.from({ length: Math.floor(bytes / each) }, (_, at) => [`statu${1_000 + at}`, 0]))
}

const coercion: readonly Attack[] = [
  ...[35, 65].map((size): Attack => ({
    name: `unknown keys, ${size} KB`,
    fault: 'coercion of variables',
    carryOut: graphql(() => ({
      query: vaultsWhere,
      variables: { where: unknownKeys(size * kilobytes - 300) },
    })),
  })),
  {
    name: 'wrong addresses',
    fault: 'coercion of variables',
    carryOut: graphql(() => ({
      query: 'query ($owner: [Address!]) { vaults(where: { owner: $owner }) { totalCount } }',
      variables: { owner: Array.from({ length: 6_000 }, (_, at) => `0x${at}`) },
    })),
  },
  {
    name: 'right addresses',
    fault: 'coercion of variables',
    carryOut: graphql(() => ({
      query: 'query ($owner: [Address!]) { vaults(where: { owner: $owner }) { totalCount } }',
      variables: { owner: Array.from({ length: 1_400 }, (_, at) => `0x${String(at).padStart(40, '0')}`) },
    })),
  },
  {
    name: 'nested variables',
    fault: 'coercion of variables',
    carryOut: async (attacker) => {
      const nested = (open: string, close: string): string => open.repeat(10_000) + close.repeat(10_000)
      for (const status of [nested('[', ']'), `${'{"status":'.repeat(5_000)}1${'}'.repeat(5_000)}`]) {
        const body = `{"query":${JSON.stringify(vaultsWhere)},"variables":{"where":{"status":${status}}}}`
        await attacker.ask({ method: 'POST', target: '/graphql', headers: jsonHeaders, body })
      }
    },
  },
  {
    name: 'huge values in variables',
    fault: 'coercion of variables',
    carryOut: async (attacker) => {
      const query = 'query ($after: String, $first: Int!) { vaults(after: $after, first: $first) { totalCount } }'
      const digits = '9'.repeat(bodyBytes - 500)
      const values = [`{"after":"${digits}","first":1}`, `{"after":null,"first":${digits}}`, `{"first":1.5e308}`]
      for (const variables of values) {
        const body = `{"query":${JSON.stringify(query)},"variables":${variables}}`
        await attacker.ask({ method: 'POST', target: '/graphql', headers: jsonHeaders, body })
      }
    },
  },
  {
    name: 'undeclared variables',
    fault: 'coercion of variables',
    carryOut: graphql(() => ({
      query: '{ strategies { id } }',
      variables: unknownKeys(bodyBytes - 300),
    })),
  },
  {
    name: 'undeclared variables of an event stream',
    fault: 'coercion of variables',
    carryOut: async (attacker) => {
      const query = 'subscription { ledger { type } }'
      const body = JSON.stringify({ query, variables: unknownKeys(bodyBytes - 300) })
      const headers = { ...jsonHeaders, accept: 'text/event-stream' }
      await attacker.ask({ method: 'POST', target: '/graphql', headers, body })
    },
  },
]

const lists: readonly Attack[] = [
  {
    name: 'one type 700 times',
    fault: 'lists of inputs',
    carryOut: graphql(({ target }) => ({
      query: never(
        `{ vault(address: "${target.ledger}") { events(first: 1, type: [${times(700, () => 'HARVEST')}]) { totalCount } } }`,
      ),
    })),
  },
  {
    name: 'one type 5,000 times in variables',
    fault: 'lists of inputs',
    carryOut: graphql(({ target }) => ({
      query: ledgerTypes(target.ledger),
      variables: { types: Array.from({ length: 5_000 }, () => 'HARVEST') },
    })),
  },
  {
    name: 'types of 200 ledgers',
    fault: 'lists of inputs',
    carryOut: graphql(() => ({
      query:
        'query ($types: [EventType!]) { vaults(first: 200) { nodes { events(first: 1, type: $types) { totalCount } } } }',
      variables: { types: Array.from({ length: 5_000 }, () => 'HARVEST') },
    })),
  },
  {
    name: 'types of a REST path',
    fault: 'lists of inputs',
    carryOut: ({ target, get }) =>
      get(`/vault/${target.ledger}/events?limit=1000&type=${times(900, () => 'harvest', ',')}`),
  },
  {
    name: '7,000 statuses',
    fault: 'lists of inputs',
    carryOut: graphql(() => ({
      query: vaultsWhere,
      variables: { where: { status: Array.from({ length: 7_000 }, () => 'IDLE') } },
    })),
  },
  {
    name: '2,000 strategy ids',
    fault: 'lists of inputs',
    carryOut: graphql(() => ({
      query: vaultsWhere,
      variables: { where: { strategy: Array.from({ length: 2_000 }, unique) } },
    })),
  },
  {
    name: '900 strategy ids inline',
    fault: 'lists of inputs',
    carryOut: graphql(() => ({
      query: never(`{ vaults(where: { strategy: [${times(900, (at) => `"${at}"`)}] }) { totalCount } }`),
    })),
  },
]

/** First a success with the same headers, so that those after it are answered as a known document's are. */
async function askByNames(attacker: Attacker, name: () => string): Promise<void> {
  const query = '{ strategies { id } }'
  await attacker.graphql({ query })
  for (let asked = 0; asked < 10 && !attacker.isOver(); asked++) {
    await attacker.graphql({ query, operationName: name() })
  }
}

const operationNames: readonly Attack[] = [
  {
    name: 'operation names',
    fault: 'state by operation name',
    atLeast: 200,
    carryOut: (attacker) => askByNames(attacker, unique),
  },
  {
    name: 'operation names of 60 KB',
    fault: 'state by operation name',
    atLeast: 200,
    carryOut: (attacker) => askByNames(attacker, () => unique() + 'x'.repeat(60_000)),
  },
  {
    name: 'operation names by GET',
    fault: 'state by operation name',
    carryOut: ({ get }) =>
      get(
        `/graphql?query=${encodeURIComponent('query A { strategies { id } } query B { universe { screenedAt } }')}&operationName=${unique()}${'x'.repeat(7_000)}`,
        { accept: jsonHeaders.accept },
      ),
  },
]

const post = (body: string): string =>
  `POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

/** Requests one after the other, a megabyte a connection, whose answers nobody reads; 16 MB where the attacker is alone. */
const pipelined = (name: string, request: (attacker: Attacker, index: number) => string): Attack => ({
  name: `pipelined ${name}`,
  fault: 'pipelined requests',
  carryOut: async (attacker) => {
    const wire = await attacker.open(false)
    let bytes = attacker.isAlone ? 16_000_000 : 1_000_000
    for (let index = 0; bytes > 0 && !attacker.isOver() && !wire.socket.destroyed;) {
      let some = ''
      while (some.length < 60_000) some += request(attacker, index++)
      bytes -= some.length
      await Promise.race([wire.write(some), attacker.over])
    }
    await attacker.over
  },
})

const pipelines: readonly Attack[] = [
  pipelined('snapshots', ({ target }) => `GET /vault/${target.short[0] ?? ''}/snapshot HTTP/1.1\r\nhost: x\r\n\r\n`),
  pipelined(
    'ledgers',
    ({ target }, at) => `GET /vault/${target.ledger}/events?since=${at} HTTP/1.1\r\nhost: x\r\n\r\n`,
  ),
  pipelined('GraphQL', (_, at) =>
    post(
      JSON.stringify({
        query: `{ vaults(first: 200) { nodes { owner strategyId netUsd events(first: 3) { nodes { ts } } } } } # ${at % 7}`,
      }),
    ),
  ),
  pipelined('counts', ({ target }, at) =>
    post(
      JSON.stringify({
        query:
          'query ($a: Address!, $s: UnixTime) { vault(address: $a) { events(first: 1, since: $s) { totalCount } } }',
        variables: { a: target.ledger, s: at },
      }),
    ),
  ),
  pipelined('new documents', () => post(JSON.stringify({ query: never('{ strategies { id } }') }))),
  pipelined('refusals', () => post('{"query":1}')),
  pipelined('unknown paths', (_, at) => `GET /nowhere/${at} HTTP/1.1\r\nhost: x\r\n\r\n`),
  pipelined('probes', (_, at) => `GET ${at % 2 === 0 ? '/ready' : '/metrics'} HTTP/1.1\r\nhost: x\r\n\r\n`),
]

const unreadConnections = 60

/** Requests as long as the connection takes them, whose answers nobody reads. */
const unread = (
  name: string,
  fault: Fault,
  request: (attacker: Attacker, index: number) => string,
  perConnection = 20,
): Attack => ({
  name: `${name}, unread`,
  fault,
  connections: unreadConnections,
  carryOut: async (attacker) => {
    const wire = await attacker.open(false)
    await Promise.race([wire.write(times(perConnection, (index) => request(attacker, index), '')), attacker.over])
    await attacker.over
  },
})

const encodings = ['br', 'gzip', 'identity', 'gzip;q=0.5, br;q=0.1', 'deflate, *']
const page = (target: string, headers = ''): string => `GET ${target} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`
const assets = ['/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css', '/docs', '/openapi.json', '/docs/start.js']

const pages: readonly Attack[] = [
  unread('GraphiQL', 'pages and assets', () => page('/graphql', 'accept: text/html\r\n'), 5),
  unread('GraphiQL, links', 'pages and assets', () => page(`/graphql?query=${unique()}`, 'accept: text/html\r\n'), 5),
  unread('assets', 'pages and assets', (_, at) => page(assets[at % 2] ?? ''), 5),
  {
    name: 'GraphiQL in each encoding',
    fault: 'pages and assets',
    carryOut: async ({ get }) => {
      for (const encoding of encodings) await get('/graphql', { accept: 'text/html', 'accept-encoding': encoding })
    },
  },
  {
    name: 'assets in each encoding',
    fault: 'pages and assets',
    carryOut: async ({ get }) => {
      for (const encoding of encodings) {
        for (const asset of assets) await get(asset, { 'accept-encoding': encoding })
      }
    },
  },
  {
    name: 'assets with parameters',
    fault: 'pages and assets',
    carryOut: ({ get }) => get(`/docs/swagger-ui-bundle.js?${unique()}`, { 'accept-encoding': 'br' }),
  },
]

const probes: readonly Attack[] = ['/metrics', '/ready', '/health'].map((path) => ({
  name: `probes of ${path}`,
  fault: 'pages and assets',
  carryOut: ({ get }) => get(path),
}))

const counts: readonly Attack[] = [
  {
    name: 'count of the long ledger',
    fault: 'counts of a long ledger',
    carryOut: graphql(({ target }) => ({
      query: 'query ($a: Address!, $s: UnixTime) { vault(address: $a) { events(first: 1, since: $s) { totalCount } } }',
      variables: { a: target.ledger, s: Math.floor(Math.random() * 1e6) },
    })),
  },
  {
    name: 'counts in 50 windows',
    fault: 'counts of a long ledger',
    carryOut: graphql(({ target }) => ({
      query: never(
        `{ vault(address: "${target.ledger}") { ${times(50, (at) => `a${at}: events(first: 1, since: ${at}, until: ${2e9 + at}, type: [HARVEST, REBALANCE, PLANT]) { totalCount }`)} } }`,
      ),
    })),
  },
  {
    name: 'counts in nested lists',
    fault: 'counts of a long ledger',
    carryOut: graphql(() => ({
      query: never(
        '{ strategies { vaults(first: 20) { totalCount nodes { events(first: 1) { totalCount } strategy { vaults(first: 2) { totalCount nodes { events(first: 2) { totalCount } } } } } } } }',
      ),
    })),
  },
]

const anyTime = (): number => 1_700_006_400 + Math.floor(Math.random() * 12_000_000)

const byArguments: readonly Attack[] = [
  {
    name: 'filters of 990 ids on 40 pages',
    fault: 'state by arguments',
    carryOut: graphql(() => ({
      query: `query ($w: VaultWhere) { ${times(40, (at) => `a${at}: vaults(first: ${at + 1}) { ...p }`)} }
        fragment p on VaultConnection { nodes { strategy { ${times(33, () => 'vaults(where: $w) { totalCount }')} } } }`,
      variables: { w: { strategy: Array.from({ length: 990 }, (_, at) => `s${at}`) } },
    })),
  },
  {
    name: '20 pairs at 20 venues',
    fault: 'lists of inputs',
    carryOut: graphql(() => ({
      query: never(
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
    fault: 'state by arguments',
    atLeast: 1_200,
    carryOut: graphql(() => ({
      query: 'query ($where: VaultWhere) { vaults(first: 1, where: $where) { nodes { netUsd } } }',
      variables: { where: { strategy: Array.from({ length: 150 }, () => unique() + 'x'.repeat(380)) } },
    })),
  },
  {
    name: 'windows of a ledger',
    fault: 'state by arguments',
    carryOut: ({ target, get }) => get(`/vault/${target.ledger}/events?limit=1&since=${anyTime() % 1_000_000}`),
  },
  {
    name: 'windows of the longest series',
    fault: 'state by arguments',
    carryOut: ({ target, get }) => {
      const [since, until] = [anyTime(), anyTime()].sort()
      return get(`/vault/${target.long[0] ?? ''}/equity?points=2000&since=${since ?? 0}&until=${until ?? 0}`)
    },
  },
  {
    name: 'moments of a vault',
    fault: 'state by arguments',
    carryOut: ({ target, get }) => get(`/vault/${target.long[0] ?? ''}/snapshot?at=${anyTime()}`),
  },
  {
    name: 'unknown vaults',
    fault: 'state by arguments',
    carryOut: ({ get }) =>
      get(`/vault/0x${times(5, () => String(Math.random()).slice(2, 10).padEnd(8, '1'), '')}/snapshot`),
  },
  {
    name: 'spellings of a vault',
    fault: 'state by arguments',
    carryOut: ({ target, get }) => {
      const spelled = [...target.ledger].map((each) =>
        Math.random() < 0.5 ? each : `%${each.charCodeAt(0).toString(16)}`,
      )
      return get(`/vault/${spelled.join('')}/events?limit=1000`)
    },
  },
  {
    name: 'Accept headers of GraphQL',
    fault: 'state by arguments',
    carryOut: (attacker) =>
      attacker.ask({
        method: 'POST',
        target: `/graphql?${unique()}`,
        headers: { ...jsonHeaders, accept: `application/json;x="${unique()}${'x'.repeat(900)}"` },
        body: JSON.stringify({ query: '{ strategies { id } }' }),
      }),
  },
  {
    name: 'media ranges in thousands',
    fault: 'state by arguments',
    carryOut: (attacker) =>
      attacker.ask({
        method: 'POST',
        target: `/graphql?${unique()}`,
        headers: { ...jsonHeaders, accept: `${'a/b,'.repeat(3_500)}a/b` },
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
  fault: 'documents never asked',
  connections,
  carryOut: graphql((attacker) => ({ query: query(attacker) })),
})

const documents: readonly Attack[] = [
  { ...newDocument('fields in fragments of fragments', fragmentsOfFields), atLeast: 200 },
  newDocument('large documents', ({ target }) => largeDocument(target.short[0] ?? ''), 150),
  newDocument('documents of fragments', fragmentsDocument, 150),
  newDocument('overlapping selections', () => overlappingDocument(false)),
  newDocument('conflicting selections', () => overlappingDocument(true), 150),
  newDocument('nested overlaps', nestedOverlaps),
  newDocument('documents of errors', errorsDocument, 150),
  newDocument('unknown keys inline', () =>
    never(`{ vaults(where: { ${times(320, (at) => `statu${at}: 1`)} }) { totalCount } }`),
  ),
  newDocument('wrong addresses inline', () =>
    never(`{ vaults(where: { owner: [${times(900, (at) => `"0x${at}"`)}] }) { totalCount } }`),
  ),
  newDocument('fragment cycles', () =>
    never(
      `{ strategies { ...f0 } } ${times(90, (at) => `fragment f${at} on Strategy { id ...f${(at + 1) % 90} ...f${(at + 7) % 90} }`)}`,
    ),
  ),
  newDocument('variables of a document', () =>
    never(`query (${times(150, (at) => `$v${at}: VaultWhere = {}`)}) { strategies { id } }`),
  ),
  newDocument('operations of a document', () => never(times(190, (at) => `query q${at} { __typename }`))),
  newDocument('introspection', () => never(introspection)),
  newDocument('introspection, aliased', () =>
    never(`{ ${times(15, (at) => `a${at}: __schema { types { fields { name args { name } } } }`)} }`),
  ),
  newDocument('aliases', ({ target }) =>
    never(
      `{ ${times(50, (at) => `a${at}: vault(address: "${target.long[at % target.long.length] ?? ''}") { netUsd }`)} }`,
    ),
  ),
  newDocument('directives', () => never(`{ strategies { ${times(50, () => 'id @include(if: true)')} } }`)),
  newDocument('directives over the bound', () => never(`{ strategies { id ${'@include(if: true) '.repeat(160)} } }`)),
  newDocument('type names', () => never(`{ ${'__typename '.repeat(990)} }`)),
  newDocument('selection sets, deep', () => never(`${'{ a '.repeat(330)}${'}'.repeat(330)}`)),
  newDocument('strings', () => never(`{ vaults(after: "${'\\u0041'.repeat(3_000)}") { totalCount } }`)),
  newDocument('documents of 60 KB', () => never(`{ strategies { id } } ${'#'.repeat(60_000)}`)),
  newDocument('tokens without end', () => never('{ '.repeat(15_000))),
]

const refused: readonly Attack[] = [
  {
    name: 'cursors',
    fault: 'refusals',
    carryOut: async (attacker) => {
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
    name: 'numbers out of bounds',
    fault: 'refusals',
    carryOut: async (attacker) => {
      for (const first of ['2147483647', '-2147483648', '1.5', '1e400', '99999999999999999999']) {
        await attacker.graphql({
          query: never(`{ vaults(first: ${first}) { nodes { events(first: ${first}) { totalCount } } } }`),
        })
      }
      await attacker.get(`/vault/${attacker.target.ledger}/equity?points=${'9'.repeat(7_000)}`)
    },
  },
  {
    name: 'NUL characters',
    fault: 'refusals',
    carryOut: async (attacker) => {
      await attacker.graphql({ query: vaultsWhere, variables: { where: { strategy: ['\u0000', '\ud800'] } } })
      await attacker.get('/vault/%00/snapshot')
    },
  },
  {
    name: 'unknown paths',
    fault: 'refusals',
    carryOut: ({ get }) => get(`/${unique()}/${'a/'.repeat(2_000)}`),
  },
  {
    name: 'parameters in thousands',
    fault: 'refusals',
    carryOut: async ({ get, target }) => {
      await get(`/vault/${target.ledger}/events?${times(2_000, (at) => `a${at}`, '&')}`)
      await get(`/vault/${target.ledger}/events?${times(1_300, () => 'limit', '&')}`)
      await get(`/graphql?query=x${times(1_300, () => 'limit', '&')}`, { accept: jsonHeaders.accept })
    },
  },
  {
    name: 'percent-encoding errors',
    fault: 'refusals',
    carryOut: async ({ get }) => {
      await get(`/vault/${'%ff'.repeat(2_500)}/snapshot?since=${'%'.repeat(400)}`)
      await get(`/vault/${'%61'.repeat(2_500)}/snapshot`)
    },
  },
  {
    name: 'HEAD and OPTIONS',
    fault: 'refusals',
    carryOut: async (attacker) => {
      const { target } = attacker
      for (const method of ['HEAD', 'OPTIONS', 'DELETE']) {
        await attacker.ask({
          method,
          target: `/vault/${target.ledger}/events?limit=1000&since=${anyTime() % 1_000_000}`,
        })
        await attacker.ask({ method, target: '/graphql' })
      }
    },
  },
]

const longAlias = (characters: number): string => 'a'.repeat(characters)

const answers: readonly Attack[] = [
  unread('300 KB, kept', 'large answers', ({ target }) => page(`/vault/${target.ledger}/events?limit=1000`)),
  unread('300 KB, made anew', 'large answers', ({ target }) =>
    page(`/vault/${target.ledger}/events?limit=1000&since=${anyTime() % 1_000_000}`),
  ),
  {
    name: '300 KB, compressed anew',
    fault: 'large answers',
    carryOut: ({ target, get }) =>
      get(`/vault/${target.ledger}/events?limit=1000&since=${anyTime() % 1_000_000}`, { 'accept-encoding': 'br' }),
  },
  {
    name: 'aliases as long as they may be',
    fault: 'large answers',
    carryOut: graphql(({ target }) => ({
      query: never(`{ vault(address: "${target.long[0]}") { equity(points: 2000) { ${longAlias(100)}: ts } } }`),
    })),
  },
  {
    name: 'aliases of 19,000 characters',
    fault: 'refusals',
    carryOut: graphql(({ target }) => ({
      query: never(`{ vault(address: "${target.long[0]}") { equity(points: 2000) { ${longAlias(19_000)}: ts } } }`),
    })),
  },
  {
    name: 'answers left at once',
    fault: 'large answers',
    carryOut: async (attacker) => {
      const wire = await attacker.open(true)
      await wire.write(page(`/vault/${attacker.target.ledger}/events?limit=1000&since=${anyTime() % 1_000_000}`))
      await pause(attacker, 5)
      wire.socket.destroy()
    },
  },
]

/** Bytes on a connection of their own, whose answers are read. */
const raw = (
  name: string,
  carryOut: (attacker: Attacker, wire: Awaited<ReturnType<Attacker['open']>>) => Promise<void>,
): Attack => ({
  name,
  fault: 'HTTP itself',
  carryOut: async (attacker) => {
    const wire = await attacker.open(true)
    await carryOut(attacker, wire)
    wire.socket.destroy()
  },
})

/** How long an answer to bytes on a connection of their own is waited for. */
const answerMilliseconds = 50
const keptConnections = 40
/** As many as one read of a connection brings. */
const withoutHost = 'GET / HTTP/1.1\r\n\r\n'.repeat(3_600)

/**
 * Many connections that were answered before, and then all have input to parse at once.
 * @param before returns the request that is answered before: a stream does not end
 */
function onKeptConnections(
  name: string,
  bytes: string,
  before: (attacker: Attacker) => string = () => page('/health'),
): Attack {
  return {
    name,
    fault: 'HTTP itself',
    isFromElsewhere: true,
    async carryOut(attacker) {
      const wires = await Promise.all(
        Array.from({ length: attacker.isAlone ? 1 : keptConnections }, () => attacker.open(true)),
      )
      for (const { write } of wires) await write(before(attacker))
      await pause(attacker, 100)
      await Promise.race([Promise.all(wires.map(({ write }) => write(bytes))), pause(attacker, 300)])
      await pause(attacker, 100)
      for (const { socket } of wires) socket.destroy()
    },
  }
}

const http: readonly Attack[] = [
  raw('slow headers', async (attacker, { write }) => {
    await write('GET /strategies HTTP/1.1\r\nhost: x\r\n')
    while (!attacker.isOver()) {
      await write('x-a: a\r\n')
      await pause(attacker, 200)
    }
  }),
  raw('slow bodies', async (attacker, { write }) => {
    await write('POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n')
    while (!attacker.isOver()) {
      await write('x')
      await pause(attacker, 20)
    }
  }),
  raw('chunks of a byte', async (attacker, { write }) => {
    await write(
      'POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    await write('1\r\nx\r\n'.repeat(60_000))
    await write('0\r\n\r\n')
    await pause(attacker, answerMilliseconds)
  }),
  onKeptConnections(
    'chunks on kept connections',
    `POST /graphql HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(10_800)}`,
  ),
  onKeptConnections('pipelines on kept connections', page('/vault/0x00/snapshot').repeat(1_000)),
  onKeptConnections(
    'headers on kept connections',
    `GET /health HTTP/1.1\r\nhost: x\r\n${'a:b\r\n'.repeat(90)}\r\n`.repeat(100),
  ),
  onKeptConnections('no Host on kept connections', withoutHost),
  onKeptConnections('no Host behind streams', withoutHost, ({ target }) =>
    page(`/live/vaults?vault=${target.short[0] ?? ''}`),
  ),
  raw('chunk extensions', async (attacker, { write }) => {
    await write(
      'POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    await write(`1;${'x'.repeat(1_000_000)}\r\nx\r\n0\r\n\r\n`)
    await pause(attacker, answerMilliseconds)
  }),
  raw('trailers', async (attacker, { write }) => {
    await write(
      'POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    await write(`0\r\n${times(5_000, (at) => `x-${at}: ${at}\r\n`, '')}\r\n`)
    await pause(attacker, answerMilliseconds)
  }),
  raw('bodies over the bound', async (attacker, { write }) => {
    await write(
      'POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    for (let sent = 0; sent < 50 && !attacker.isOver(); sent++) {
      await Promise.race([write(`ffff\r\n${'x'.repeat(65_535)}\r\n`), pause(attacker, 1_000)])
    }
  }),
  raw('bodies of a GET', async (attacker, { write }) => {
    await write(`GET /strategies HTTP/1.1\r\nhost: x\r\ncontent-length: 8000000\r\n\r\n${'x'.repeat(8_000_000)}`)
    await pause(attacker, answerMilliseconds)
  }),
  raw('many headers', async (attacker, { write }) => {
    await write(`GET /strategies HTTP/1.1\r\nhost: x\r\n${times(2_000, (at) => `a${at}:\r\n`, '')}\r\n`)
    await pause(attacker, answerMilliseconds)
  }),
  raw('header bombs', async (attacker, { write }) => {
    await write(`GET /strategies HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(2_000_000)}`)
    await pause(attacker, answerMilliseconds)
  }),
  raw('half-closed', async (attacker, { write, socket }) => {
    await write(page(`/vault/${attacker.target.ledger}/events?limit=1000&since=${anyTime() % 1_000_000}`))
    socket.end()
    await pause(attacker, answerMilliseconds)
  }),
  raw('methods unknown to HTTP', async (attacker, { write }) => {
    await write(`${'X'.repeat(4_000)} /strategies HTTP/1.1\r\nhost: x\r\n\r\n`)
    await pause(attacker, answerMilliseconds)
  }),
  {
    name: 'connections left open',
    fault: 'HTTP itself',
    carryOut: async (attacker) => {
      for (let opened = 0; opened < (attacker.isAlone ? 500 : 100) && !attacker.isOver(); opened++) {
        await attacker.open(false).then(({ write }) => write('GET /strategies HTTP/1.1\r\nhost'))
      }
      await attacker.over
    },
  },
  {
    name: 'connections closed at once',
    fault: 'HTTP itself',
    isFromElsewhere: true,
    carryOut: async (attacker) => {
      const { short } = attacker.target
      const whole = page(`/vault/${short[0] ?? ''}/snapshot`)
      for (const bytes of ['', whole.slice(0, 20), whole, whole.repeat(10)]) {
        const { socket, write } = await attacker.open(false)
        if (bytes !== '') await write(bytes)
        socket.resetAndDestroy()
      }
    },
  },
  {
    name: 'lists in headers',
    fault: 'HTTP itself',
    carryOut: async (attacker) => {
      const { target, get } = attacker
      const fill = (part: string): string => part.repeat(Math.floor(8_000 / part.length))
      const path = `/vault/${target.short[0] ?? ''}/equity`
      await get(path, { 'if-none-match': fill('"a",') })
      await get(path, { 'if-none-match': fill('W/"') })
      await get(path, { 'accept-encoding': fill('br;q=0,') })
      await get(path, { 'accept-encoding': fill('a;q=0.1,') })
      await get(path, { 'x-forwarded-for': fill('1,') })
      await get(path, { 'x-request-id': fill('a') })
      await get(path, { authorization: `Bearer${fill(' ')}` })
      await get('/graphql?query={__typename}', { accept: fill('a/b;q=0.1,') })
      await get('/graphql?query={__typename}', { accept: fill('application/json;') })
      await attacker.ask({
        method: 'POST',
        target: '/graphql',
        headers: { 'content-type': `application/json;${fill('a=b;')}`, accept: fill('*/*,') },
        body: '{"query":"{__typename}"}',
      })
    },
  },
  {
    name: 'hosts',
    fault: 'HTTP itself',
    carryOut: ({ get }) => get('/strategies', { host: `${unique()}${'x'.repeat(8_000)}` }),
  },
]

/** All shapes, in the order that they are tried. */
export const attacks: readonly Attack[] = [
  ...coercion,
  ...lists,
  ...operationNames,
  ...pipelines,
  ...pages,
  ...probes,
  ...counts,
  ...byArguments,
  ...documents,
  ...executions,
  ...refused,
  ...answers,
  ...http,
]
