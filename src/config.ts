import { environment, type logLevels } from './config/environment.ts'
import { defaultHttpLimits, defaultQueryLimits, type HttpLimits, type QueryLimits } from './limits.ts'

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
  const { DATABASE_URL, READ_URLS } = set
  const { PORT, METRICS_PORT, WORKERS } = environment.shape
  // Undefined where the variable is not valid.
  const port = PORT.safeParse(set['PORT']).data
  const workers = WORKERS.safeParse(set['WORKERS']).data
  const samePort = port !== undefined && port !== 0 && METRICS_PORT.safeParse(set['METRICS_PORT']).data === port
  const onOneProcess = workers !== undefined && workers > 1 && DATABASE_URL === undefined
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
