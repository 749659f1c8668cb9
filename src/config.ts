import { z } from 'zod'
import { defaultHttpLimits, defaultQueryLimits, type HttpLimits, type QueryLimits } from './limits.ts'
import { addressProblem } from './database/postgresql/server-address.ts'

/** Validated configuration of the environment. */
export interface Config {
  readonly port: number
  /** Number of processes that serve the port. */
  readonly workers: number
  /** Address to listen on; null for all addresses. */
  readonly host: string | null
  readonly database: DatabaseConfig
  /** Whether to fill an empty database with the demo feed. */
  readonly demo: boolean
  /** Whether browsers get the explorer at `/`. */
  readonly explorer: boolean
  readonly apiKeys: readonly string[]
  readonly rateLimit: { readonly requests: number; readonly seconds: number } | null
  readonly trustedProxies: number
  readonly httpLimits: HttpLimits
  readonly queryLimits: QueryLimits
  /** Maximum size of the response cache; 0 disables it. */
  readonly cacheBytes: number
  /** Manifest of operations that clients may send by their ids alone; null for none. */
  readonly persistedOperations: string | null
  /** Seconds for which edges may answer by themselves from what they have kept; 0 if not at all. */
  readonly edgeSeconds: number
  /** Seconds that running requests have to finish at a stop. */
  readonly stopSeconds: number
  /** Port of `/metrics`; null where it shares the main port. */
  readonly metricsPort: number | null
  readonly logLevel: (typeof logLevels)[number]
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** Engine and address of the database. */
export type DatabaseConfig =
  | { readonly engine: 'pglite'; readonly dataDir: string }
  | {
      readonly engine: 'postgresql'
      readonly url: string
      readonly connections: number
      readonly replicas?: { readonly urls: readonly string[]; readonly staleSeconds: number }
    }

/** An environment with problems, one on each line of the message. */
export class BadConfig extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`The configuration can't be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.name = 'BadConfig'
  }
}

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, 'is not a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `is not from ${min} to ${max}`)

const itemsOf = (text: string): string[] => text.split(',').flatMap((item) => item.trim() || [])
const list = z
  .string()
  .transform(itemsOf)
  .refine((items) => items.length > 0, 'has nothing but commas and spaces: leave it out to have none')

function checkAddress(text: string, context: z.RefinementCtx): string {
  // The driver would encode the whole address again if it contained a space.
  const address = text.trim().replaceAll(' ', '%20')
  const problem = addressProblem(address)
  if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  return address
}

function checkAddresses(items: readonly string[], context: z.RefinementCtx): string[] {
  const addresses = items.map((item) => item.replaceAll(' ', '%20'))
  addresses.forEach((address, index) => {
    const problem = addressProblem(address)
    const message = `has an address, number ${index + 1} of ${items.length}, that ${problem}`
    if (problem !== null) context.addIssue({ code: 'custom', message })
  })
  if (new Set(addresses).size < addresses.length) context.addIssue({ code: 'custom', message: 'has an address twice' })
  return addresses
}

/**
 * Syntax of a Bearer token.
 * @see RFC 6750, section 2.1
 */
const bearerToken = /^[A-Za-z0-9\-._~+/]+=*$/

function checkKeys(keys: readonly string[], context: z.RefinementCtx): void {
  if (keys.some((key) => key.length < 16)) {
    context.addIssue({ code: 'custom', message: 'has a key of fewer than 16 characters' })
  }
  const unsendable = keys.findIndex((key) => !bearerToken.test(key))
  if (unsendable === -1) return
  const message =
    `has a key, number ${unsendable + 1}, that a client can't send as a Bearer token (RFC 6750): ` +
    'it may hold A-Z a-z 0-9 - . _ ~ + / and end with ='
  context.addIssue({ code: 'custom', message })
}

const environment = z.object({
  PORT: wholeNumber(0, 65_535).default(4_000),
  WORKERS: wholeNumber(1, 128).default(1),
  HOST: z.string().min(1).nullable().default(null),
  DATA_DIR: z.string().min(1).default('.data'),
  DATABASE_URL: z.string().transform(checkAddress).optional(),
  DATABASE_CONNECTIONS: wholeNumber(2, 1_000).default(10),
  READ_URLS: list.transform(checkAddresses).default([]),
  STALE_SECONDS: wholeNumber(2, 86_400).default(60),
  DEMO: z.enum(['0', '1'], 'is neither 0 nor 1').default('1'),
  EXPLORER: z.enum(['0', '1'], 'is neither 0 nor 1').default('1'),
  API_KEYS: list.superRefine(checkKeys).default([]),
  RATE_LIMIT: z
    .string()
    .regex(/^[1-9]\d{0,6}\/[1-9]\d{0,4}$/, 'is not requests/seconds, such as 100/60')
    .transform((text) => {
      const [requests = 0, seconds = 0] = text.split('/').map(Number)
      return { requests, seconds }
    })
    .nullable()
    .default(null),
  TRUSTED_PROXIES: wholeNumber(0, 16).default(0),
  MAX_BODY_BYTES: wholeNumber(1_024, 16_777_216).default(defaultHttpLimits.bodyBytes),
  MAX_QUERY_BYTES: wholeNumber(1_000, 1_000_000).default(defaultQueryLimits.bytes),
  MAX_QUERY_TOKENS: wholeNumber(100, 100_000).default(defaultQueryLimits.tokens),
  MAX_QUERY_DEPTH: wholeNumber(3, 100).default(defaultQueryLimits.depth),
  MAX_QUERY_ALIASES: wholeNumber(0, 10_000).default(defaultQueryLimits.aliases),
  MAX_QUERY_DIRECTIVES: wholeNumber(0, 10_000).default(defaultQueryLimits.directives),
  MAX_QUERY_COST: wholeNumber(100, 10_000_000).default(defaultQueryLimits.cost),
  ANSWER_SECONDS: wholeNumber(1, 50).default(defaultHttpLimits.answerSeconds),
  KEEP_ALIVE_SECONDS: wholeNumber(1, 3_600).default(defaultHttpLimits.idleSeconds),
  CACHE_MEGABYTES: wholeNumber(0, 16_384).default(32),
  PERSISTED_OPERATIONS: z.string().nullable().default(null),
  EDGE_SECONDS: wholeNumber(0, 3_600).default(0),
  STOP_SECONDS: wholeNumber(0, 3_600).default(10),
  METRICS_PORT: wholeNumber(0, 65_535).nullable().default(null),
  LOG_LEVEL: z.enum(logLevels, `is none of ${logLevels.join(', ')}`).default('info'),
})

/** Names of the environment variables that are read. */
export const environmentVariables: readonly string[] = Object.keys(environment.shape)

/**
 * Parses the configuration from environment variables. An empty variable counts as unset.
 * @throws {BadConfig} with every problem
 */
export function readConfig(variables: Readonly<Record<string, string | undefined>>): Config {
  const set = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== undefined && value !== ''))
  const read = environment.safeParse(set)
  const issues = read.error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`) ?? []
  const problems = [...issues, ...conflicts(set)]
  if (!read.success || problems.length > 0) throw new BadConfig(problems)
  const { data } = read
  return {
    port: data.PORT,
    workers: data.WORKERS,
    host: data.HOST,
    database:
      data.DATABASE_URL === undefined
        ? { engine: 'pglite', dataDir: data.DATA_DIR }
        : {
            engine: 'postgresql',
            url: data.DATABASE_URL,
            connections: data.DATABASE_CONNECTIONS,
            ...(data.READ_URLS.length > 0 && { replicas: { urls: data.READ_URLS, staleSeconds: data.STALE_SECONDS } }),
          },
    demo: data.DEMO === '1',
    explorer: data.EXPLORER === '1',
    apiKeys: data.API_KEYS,
    rateLimit: data.RATE_LIMIT,
    trustedProxies: data.TRUSTED_PROXIES,
    httpLimits: {
      ...defaultHttpLimits,
      bodyBytes: data.MAX_BODY_BYTES,
      answerSeconds: data.ANSWER_SECONDS,
      idleSeconds: data.KEEP_ALIVE_SECONDS,
    },
    queryLimits: {
      ...defaultQueryLimits,
      bytes: data.MAX_QUERY_BYTES,
      tokens: data.MAX_QUERY_TOKENS,
      depth: data.MAX_QUERY_DEPTH,
      aliases: data.MAX_QUERY_ALIASES,
      directives: data.MAX_QUERY_DIRECTIVES,
      cost: data.MAX_QUERY_COST,
    },
    cacheBytes: data.CACHE_MEGABYTES * 1024 * 1024,
    persistedOperations: data.PERSISTED_OPERATIONS,
    edgeSeconds: data.EDGE_SECONDS,
    stopSeconds: data.STOP_SECONDS,
    metricsPort: data.METRICS_PORT,
    logLevel: data.LOG_LEVEL,
  }
}

/** Returns problems of variables that are valid alone, but not together. */
function conflicts(set: Readonly<Record<string, string | undefined>>): string[] {
  const { PORT = '4000', METRICS_PORT, WORKERS = '1', DATABASE_URL, READ_URLS } = set
  const samePort = METRICS_PORT === PORT && PORT !== '0'
  const onOneProcess = Number(WORKERS) > 1 && DATABASE_URL === undefined
  return [
    ...(samePort ? ['METRICS_PORT is that of PORT: leave it out to have both on one'] : []),
    ...(onOneProcess ? [`WORKERS ${needsPostgreSql}`] : []),
    ...(READ_URLS !== undefined && DATABASE_URL === undefined ? [`READ_URLS ${needsPrimary}`] : []),
  ]
}

const needsPostgreSql =
  'is more than the 1 that the embedded database can serve, which belongs to one process: ' +
  'name a PostgreSQL in DATABASE_URL, or leave WORKERS out'

const needsPrimary =
  'names replicas, which are of no use to the embedded database: name their primary in DATABASE_URL, or leave it out'
