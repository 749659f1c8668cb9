import { defaultHttpLimits } from '../src/limits.ts'
import { describe, expect, test } from 'vitest'
import { BadConfig, readConfig } from '../src/config.ts'

/** Query limits that no variable sets. */
const fixedBounds = {
  lines: 1_000,
  repeats: 100,
  variableCharacters: 40_000,
  variableValues: 1_000,
  aliasCharacters: 100,
  responseCharacters: 10_000_000,
}
const defaults = {
  port: 4_000,
  workers: 1,
  host: null,
  database: { engine: 'pglite', dataDir: '.data' },
  demo: true,
  explorer: true,
  apiKeys: [],
  rateLimit: null,
  trustedProxies: 0,
  httpLimits: defaultHttpLimits,
  queryLimits: { bytes: 20_000, tokens: 1_000, depth: 16, aliases: 50, directives: 50, cost: 50_000, ...fixedBounds },
  cacheBytes: 32 * 1024 * 1024,
  persistedOperations: null,
  edgeSeconds: 0,
  stopSeconds: 10,
  metricsPort: null,
  logLevel: 'info',
}
const url = 'postgres://user@host/name'
const variables = [
  'PORT',
  'WORKERS',
  'HOST',
  'DATA_DIR',
  'DATABASE_URL',
  'DATABASE_CONNECTIONS',
  'READ_URLS',
  'STALE_SECONDS',
  'DEMO',
  'EXPLORER',
  'API_KEYS',
  'RATE_LIMIT',
  'TRUSTED_PROXIES',
  'MAX_BODY_BYTES',
  'MAX_QUERY_BYTES',
  'MAX_QUERY_TOKENS',
  'MAX_QUERY_DEPTH',
  'MAX_QUERY_ALIASES',
  'MAX_QUERY_DIRECTIVES',
  'MAX_QUERY_COST',
  'ANSWER_SECONDS',
  'KEEP_ALIVE_SECONDS',
  'CACHE_MEGABYTES',
  'PERSISTED_OPERATIONS',
  'EDGE_SECONDS',
  'STOP_SECONDS',
  'METRICS_PORT',
  'LOG_LEVEL',
]

const samePort = 'METRICS_PORT is that of PORT: leave it out to have both on one'
const encodeUser =
  'in user, password or database has a / ? # or @ that is not percent-encoded: write / as %2F, ? as %3F, # as %23 and @ as %40'
const oneHost =
  'names several hosts, of which the driver would not choose one: name one address that always leads to the primary, ' +
  'such as a virtual IP, HAProxy or PgBouncer'
const badPort =
  'has a port that is not a number from 1 to 65535, or a : / ? or # in the password that is not percent-encoded'

/** Invalid database URLs, and their problems. */
const badAddresses = [
  ['postgres://user:sec#ret@host/name', encodeUser],
  ['postgres://user:123#ret@host/name', encodeUser],
  ['postgres://user:123?ret@host/name', encodeUser],
  ['postgres://user:123/ret@host/name', encodeUser],
  ['postgres://user:secret@host/name#fragment', encodeUser],
  ['postgres://user:secret%@host/name', 'has a % that is no percent-encoding of UTF-8: write % as %25'],
  ['postgres://user:secret%ff@host/name', 'has a % that is no percent-encoding of UTF-8: write % as %25'],
  ['postgres://user:secret@host/name%zz', 'has a % that is no percent-encoding of UTF-8: write % as %25'],
  ['postgres://h1:5432,h2:5432/name', oneHost],
  ['postgres://user:secret@h1,h2/name', oneHost],
  ['postgres:///name?host=h1,h2', oneHost],
  ['postgres://user:secret@/name', 'names no host: write one, or ?host=/var/run/postgresql for a Unix socket'],
  ['postgres:///name', 'names no host: write one, or ?host=/var/run/postgresql for a Unix socket'],
  ['postgres://user:secret@host:0/name', badPort],
  ['postgres://user:secret@host:65536/name', badPort],
  ['postgres://user:secret@host:pass/name', badPort],
  ['postgres://host/name?port=many', badPort],
  ['postgres://user:secret@ho^st/name', 'is not an address'],
  [
    'postgres://host/name?sslmode=yes',
    'has an sslmode that is none of disable, prefer, require, verify-ca, verify-full, no-verify',
  ],
  ['postgres://host/name?pipeline=0', 'has the parameter pipeline, which is not one of a connection: leave it out'],
  [
    'postgres://host/name?dbname=other',
    'has the parameter dbname, which the driver does not know: write the database after the host',
  ],
] as const

function badKey(number: number): string {
  return (
    `API_KEYS has a key, number ${number}, that a client can't send as a Bearer token (RFC 6750): ` +
    'it may hold A-Z a-z 0-9 - . _ ~ + / and end with ='
  )
}

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment)
  } catch (error) {
    if (error instanceof BadConfig) return error.problems
    throw error
  }
  throw new Error('It was accepted')
}

describe('the configuration', () => {
  test('has a default for everything', () => {
    expect(readConfig({})).toEqual(defaults)
  })

  test('treats an empty variable as unset, and ignores other variables', () => {
    const empty = Object.fromEntries(variables.map((name) => [name, '']))
    expect(readConfig({ ...empty, PATH: '/bin', DEMO_X: 'x', HOME: undefined })).toEqual(defaults)
  })

  test.each<[string, Record<string, string>, object]>([
    ['the port', { PORT: '80' }, { port: 80 }],
    ['any free port', { PORT: '0' }, { port: 0 }],
    [
      'workers on a PostgreSQL',
      { WORKERS: '4', DATABASE_URL: url },
      { workers: 4, database: { engine: 'postgresql', url, connections: 10 } },
    ],
    ['one worker on the embedded database', { WORKERS: '1' }, { workers: 1 }],
    ['the host', { HOST: '127.0.0.1' }, { host: '127.0.0.1' }],
    ["the embedded database's folder", { DATA_DIR: '/data' }, { database: { engine: 'pglite', dataDir: '/data' } }],
    ['a PostgreSQL', { DATABASE_URL: url }, { database: { engine: 'postgresql', url, connections: 10 } }],
    [
      'a PostgreSQL, even beside a folder, with its connections',
      { DATABASE_URL: 'postgresql://host/name', DATABASE_CONNECTIONS: '25', DATA_DIR: '/data' },
      { database: { engine: 'postgresql', url: 'postgresql://host/name', connections: 25 } },
    ],
    [
      'replicas, with blanks around them',
      { DATABASE_URL: url, READ_URLS: ' postgres://one/name , postgres://two:5433/name,' },
      {
        database: {
          engine: 'postgresql',
          url,
          connections: 10,
          replicas: { urls: ['postgres://one/name', 'postgres://two:5433/name'], staleSeconds: 60 },
        },
      },
    ],
    [
      'the age of replicas',
      { DATABASE_URL: url, READ_URLS: url, STALE_SECONDS: '5' },
      { database: { engine: 'postgresql', url, connections: 10, replicas: { urls: [url], staleSeconds: 5 } } },
    ],
    [
      'no age without replicas',
      { DATABASE_URL: url, STALE_SECONDS: '5' },
      { database: { engine: 'postgresql', url, connections: 10 } },
    ],
    ['no demo world', { DEMO: '0' }, { demo: false }],
    ['a demo world', { DEMO: '1' }, { demo: true }],
    ['no explorer', { EXPLORER: '0' }, { explorer: false }],
    ...[
      'postgres:///name?host=/var/run/postgresql',
      'postgres://user:secret@/name?host=%2Fvar%2Frun%2Fpostgresql',
      'postgres://%2Fvar%2Frun%2Fpostgresql/name',
      'postgres://user:p@ss@host/name',
      'postgres://user:h1,h2%23%3F%2F%25@[::1]:6543/name?sslmode=require&application_name=gateway&user=u@tenant',
    ].map((url): [string, Record<string, string>, object] => [
      `a PostgreSQL at ${url}`,
      { DATABASE_URL: url },
      { database: { engine: 'postgresql', url, connections: 10 } },
    ]),
    [
      'a PostgreSQL whose address has blanks, which the driver would take for something else',
      { DATABASE_URL: ' postgres://user:a b%2F@host/name\n' },
      { database: { engine: 'postgresql', url: 'postgres://user:a%20b%2F@host/name', connections: 10 } },
    ],
    [
      'keys, with blanks around them',
      { API_KEYS: ' key-of-16-letters , another-one-of-20-xx,' },
      { apiKeys: ['key-of-16-letters', 'another-one-of-20-xx'] },
    ],
    ['a rate limit', { RATE_LIMIT: '100/60' }, { rateLimit: { requests: 100, seconds: 60 } }],
    ['proxies', { TRUSTED_PROXIES: '2' }, { trustedProxies: 2 }],
    ['larger bodies', { MAX_BODY_BYTES: '100000' }, { httpLimits: { ...defaultHttpLimits, bodyBytes: 100_000 } }],
    [
      'limits of queries',
      {
        MAX_QUERY_BYTES: '1000',
        MAX_QUERY_TOKENS: '200',
        MAX_QUERY_DEPTH: '5',
        MAX_QUERY_ALIASES: '0',
        MAX_QUERY_DIRECTIVES: '9',
        MAX_QUERY_COST: '100000',
      },
      {
        queryLimits: { bytes: 1_000, tokens: 200, depth: 5, aliases: 0, directives: 9, cost: 100_000, ...fixedBounds },
      },
    ],
    ['shorter answers', { ANSWER_SECONDS: '3' }, { httpLimits: { ...defaultHttpLimits, answerSeconds: 3 } }],
    [
      'longer idle connections',
      { KEEP_ALIVE_SECONDS: '120' },
      { httpLimits: { ...defaultHttpLimits, idleSeconds: 120 } },
    ],
    ['no cache', { CACHE_MEGABYTES: '0' }, { cacheBytes: 0 }],
    ['edges', { EDGE_SECONDS: '5' }, { edgeSeconds: 5 }],
    ['a time to stop in', { STOP_SECONDS: '0' }, { stopSeconds: 0 }],
    ['a port for the metrics', { METRICS_PORT: '9464' }, { metricsPort: 9464 }],
    ['a log level', { LOG_LEVEL: 'warn' }, { logLevel: 'warn' }],
  ])('takes %s', (_what, environment, expected) => {
    expect(readConfig(environment)).toEqual({ ...defaults, ...expected })
  })

  test.each([
    ['PORT', '65536', 'PORT is not from 0 to 65535'],
    ['PORT', '-1', 'PORT is not a whole number'],
    ['PORT', '80.5', 'PORT is not a whole number'],
    ['PORT', '0x50', 'PORT is not a whole number'],
    ['WORKERS', '0', 'WORKERS is not from 1 to 128'],
    [
      'WORKERS',
      '2',
      'WORKERS is more than the 1 that the embedded database can serve, which belongs to one process: name a PostgreSQL in DATABASE_URL, or leave WORKERS out',
    ],
    ['DATABASE_URL', 'mysql://host/name', 'DATABASE_URL is not a postgres:// address'],
    ...badAddresses.map(([value, problem]): [string, string, string] => [
      'DATABASE_URL',
      value,
      `DATABASE_URL ${problem}`,
    ]),
    ['DATABASE_CONNECTIONS', '1', 'DATABASE_CONNECTIONS is not from 2 to 1000'],
    ['DATABASE_CONNECTIONS', '1001', 'DATABASE_CONNECTIONS is not from 2 to 1000'],
    [
      'READ_URLS',
      url,
      'READ_URLS names replicas, which are of no use to the embedded database: name their primary in DATABASE_URL, or leave it out',
    ],
    ['STALE_SECONDS', '1', 'STALE_SECONDS is not from 2 to 86400'],
    ['DEMO', 'true', 'DEMO is neither 0 nor 1'],
    ['EXPLORER', 'yes', 'EXPLORER is neither 0 nor 1'],
    ['API_KEYS', ' , ', 'API_KEYS has nothing but commas and spaces: leave it out to have none'],
    ['API_KEYS', 'key-of-16-letters,short', 'API_KEYS has a key of fewer than 16 characters'],
    ['API_KEYS', 'key-of-16-letters,clé-of-more-than-16', badKey(2)],
    ['API_KEYS', 'key-of-"16"-letters', badKey(1)],
    ['API_KEYS', 'key=of=16=letters', badKey(1)],
    ['RATE_LIMIT', '100', 'RATE_LIMIT is not requests/seconds, such as 100/60'],
    ['RATE_LIMIT', '0/60', 'RATE_LIMIT is not requests/seconds, such as 100/60'],
    ['RATE_LIMIT', '100/0', 'RATE_LIMIT is not requests/seconds, such as 100/60'],
    ['TRUSTED_PROXIES', '17', 'TRUSTED_PROXIES is not from 0 to 16'],
    ['TRUSTED_PROXIES', 'all', 'TRUSTED_PROXIES is not a whole number'],
    ['MAX_BODY_BYTES', '1023', 'MAX_BODY_BYTES is not from 1024 to 16777216'],
    ['ANSWER_SECONDS', '60', 'ANSWER_SECONDS is not from 1 to 50'],
    ['MAX_QUERY_COST', '99', 'MAX_QUERY_COST is not from 100 to 10000000'],
    ['MAX_QUERY_DEPTH', 'deep', 'MAX_QUERY_DEPTH is not a whole number'],
    ['KEEP_ALIVE_SECONDS', '0', 'KEEP_ALIVE_SECONDS is not from 1 to 3600'],
    ['CACHE_MEGABYTES', '-1', 'CACHE_MEGABYTES is not a whole number'],
    ['EDGE_SECONDS', '5s', 'EDGE_SECONDS is not a whole number'],
    ['EDGE_SECONDS', '3601', 'EDGE_SECONDS is not from 0 to 3600'],
    ['STOP_SECONDS', '10s', 'STOP_SECONDS is not a whole number'],
    ['METRICS_PORT', '4000', 'METRICS_PORT is that of PORT: leave it out to have both on one'],
    ['METRICS_PORT', 'none', 'METRICS_PORT is not a whole number'],
    ['LOG_LEVEL', 'INFO', 'LOG_LEVEL is none of trace, debug, info, warn, error, fatal, silent'],
  ] as [string, string, string][])('refuses %s=%s', (name, value, problem) => {
    expect(problemsOf({ [name]: value })).toEqual([problem])
  })

  test.each([
    [`${url},host/name`, 'has an address, number 2 of 2, that is not a postgres:// address'],
    ['postgres://user:sec/ret@host/name', `has an address, number 1 of 1, that ${encodeUser}`],
    [`${url}, ${url}`, 'has an address twice'],
  ])('refuses replicas at %s', (urls, problem) => {
    expect(problemsOf({ DATABASE_URL: url, READ_URLS: urls })).toEqual([`READ_URLS ${problem}`])
  })

  test.each([
    [{ METRICS_PORT: '04871', PORT: '4871' }, samePort],
    [{ METRICS_PORT: '4871', PORT: '04871' }, samePort],
    [{ METRICS_PORT: '04000' }, samePort],
    [{ METRICS_PORT: '00', PORT: '0' }, null],
    [{ METRICS_PORT: '0', PORT: '00' }, null],
  ])('compares the ports of %o as numbers', (environment, problem) => {
    if (problem === null) expect(readConfig(environment)).toMatchObject({ port: 0, metricsPort: 0 })
    else expect(problemsOf(environment)).toEqual([problem])
  })

  test('reports a conflict beside the problems of other variables, and none of a variable that is not valid', () => {
    expect(problemsOf({ METRICS_PORT: '4000', DEMO: 'x' })).toEqual(['DEMO is neither 0 nor 1', samePort])
    expect(problemsOf({ WORKERS: '129' })).toEqual(['WORKERS is not from 1 to 128'])
  })

  test('reports every problem at once, one on each line', () => {
    const environment = {
      PORT: 'x',
      DATABASE_URL: 'x',
      DATABASE_CONNECTIONS: 'x',
      DEMO: 'x',
      EXPLORER: 'x',
      API_KEYS: 'x',
      RATE_LIMIT: 'x',
      TRUSTED_PROXIES: 'x',
    }
    const problems = problemsOf(environment)
    expect(problems.map((problem) => problem.split(' ')[0])).toEqual(Object.keys(environment))
    expect(() => readConfig(environment)).toThrow(
      `The configuration can't be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    )
  })

  test('never shows a value, which may be a secret', () => {
    const secret = 'postgress://user:secret@host'
    expect(problemsOf({ DATABASE_URL: secret, API_KEYS: 'secret' }).join()).not.toContain('secret')
    expect(badAddresses.map(([, problem]) => problem).join()).not.toMatch(/secret|ret@/)
    expect(problemsOf({ API_KEYS: 'secret-é-secret-é' }).join()).not.toContain('secret')
  })
})
