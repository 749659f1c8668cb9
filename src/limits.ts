/* Limits on input that a client controls, each with its reason: limits of queries first, then those of HTTP. */

/** Limits of the length of lists. */
export const listLimits = {
  /** Two points are a line; 2,000 are more than a chart has pixels. */
  points: { min: 2, max: 2_000, default: 500 },
  /** 1,000 rows are a month of an active vault, and about 300 KB. */
  events: { min: 1, max: 1_000, default: 100 },
  /** Vaults may be nested with positions, equity and events: 200 are about the largest reasonable response. */
  vaults: { min: 1, max: 200, default: 50 },
} as const

/** Maximum length of filter lists, such as owners or strategies: the size of the largest page of vaults. */
export const maxFilterValues = 200
/** Maximum number of pairs and of venues of a filter, which are compared with the positions of each vault. */
export const maxPools = 20
/** Maximum number of vaults that are counted by a filter by value, pair or venue: each is visited. */
export const maxCountedVaults = 10_000
/** Maximum length of the list of ids that `nodes` takes: the size of the largest page of vaults. */
export const maxIds = 200
/** Maximum length of a cursor; the gateway's own have at most 160 characters. */
export const maxCursorCharacters = 300

/** Default limits of a query, checked before it runs. */
export const defaultQueryLimits = {
  /** Ten times the longest query of the README; GraphiQL's introspection query has 2 KB. */
  bytes: 20_000,
  /** Each error counts them up to its place. A formatted query of as many tokens as it may have has fewer. */
  lines: 1_000,
  /** Validation compares fields pairwise. GraphiQL's introspection query has about 400 tokens. */
  tokens: 1_000,
  /** Fields of one name in one selection set, which validation compares pairwise; merged fragments repeat a few. */
  repeats: 100,
  /** Keys and strings of all variables before coercion: three filters of 200 owners have 26,000. */
  variableCharacters: 40_000,
  /** Values of all variables before coercion, nested ones too: an address costs a hash. Two full filters have 800. */
  variableValues: 1_000,
  /** GraphiQL's introspection query has 15 levels; a query about vaults needs at most 8. */
  depth: 16,
  /** An alias repeats a field: a page that compares 50 vaults has 50. */
  aliases: 50,
  /** An alias is written with each item of a list. Generated ones have up to about 60. */
  aliasCharacters: 100,
  /** Each is evaluated; clients use a few of @skip and @include. */
  directives: 50,
  /** Fields of a response, about 1.5 MB of JSON. The most expensive single list, 2,000 points, costs 14,000. */
  cost: 50_000,
  /** Characters of the data of a response: about five times those of the most expensive query. */
  responseCharacters: 10_000_000,
} as const

/** Characters of a result that are processed at once, a few milliseconds; other work runs in between. A usual page of rows is one slice. */
export const charactersAtOnce = 262_144

export type QueryLimits = Readonly<Record<keyof typeof defaultQueryLimits, number>>

/** Cost of a list besides its items, and of a count: each alias is a separate read. */
export const readCost = 100
/** Costs of a list and of a count by value, pair or venue: by the vaults that are looked at, 3,000 and 100,000 at most. */
export const filterCosts = { list: 300, count: 2_000 } as const
/** Rows that are merged to a page and cost as much as a field, and assumed pages of an owner: one for each of its strategies. */
export const scopeCosts = { rowsOfCost: 10, pagesOfOwner: 4 } as const
/** Cost of looking up one object by its address or id: a statement, which all lookups of one type share. */
export const lookupCost = 20
/** Cost of a text of up to 10,000 characters, in addition to its field: a usual one is as long as five fields. */
export const proseCost = 5
/** Characters of an alias that cost as much as a field: the length of a usual field with its value. */
export const aliasCharactersOfCost = 32
/** Costs of preparation by CPU time: 1,000 tokens take 15 to 30 ms, 64 KB of JSON 2 ms, 1,000 addresses 1,000 hashes. */
export const preparationCosts = { token: 10, bodyByte: 1 / 64, variableValue: 10 } as const

/** Maximum number of reported validation errors: each takes time to find and to format. */
export const maxValidationErrors = 10
/** Maximum length of an error message in a response, because it may quote the request. */
export const maxMessageCharacters = 1_000

/** Limits of admission control: the queries that run or wait at once, in units of cost. */
export const admissionLimits = {
  /** Total cost of expensive queries that run at once, unless it is a single one: the most expensive one runs alone. */
  maxExpensive: 50_000,
  /** Cost up to which a query is cheap: a page of vaults for a table costs 500 to 2,000, with events twice that. */
  cheapCost: 3_000,
  /** Cost up to which a query is short and does not wait: a snapshot costs 90, a page of 50 ledger rows 500. */
  shortCost: 500,
  /** Total cost of short queries of one client that run without waiting: 55 snapshots. More of them count as longer ones. */
  shortOfClient: 5_000,
  /** Cost up to which preparation is short and never waits: half a millisecond. */
  shortPreparation: 250,
  /** Total cost of other preparation in one iteration: milliseconds of CPU, then the event loop handles other requests. */
  maxPreparation: 2_000,
  /** Total cost of other cheap queries without long reads that run at once: enough to keep the database busy. */
  maxCheap: 40_000,
  /** Total cost of cheap queries with long reads that run at once: three charts of one client keep both connections busy. */
  maxWithLongReads: 15_000,
  /** Total cost of short queries with long reads that run at once without waiting: thirty small charts. */
  maxShortWithLongReads: 5_000,
  /** Statements of one query that run at once: a nested query has five, and ten connections are for the reads of all. */
  readsOfOperation: 5,
  /** How long expensive queries wait for a moment without cheap ones: the time of a few snapshots. */
  yieldMilliseconds: 50,
  /** Waiting queries: later ones would exceed their deadline. One client may have a fair share of them. */
  maxWaiting: 1_000,
} as const
export type AdmissionLimits = Readonly<Record<Exclude<keyof typeof admissionLimits, 'readsOfOperation'>, number>>

/** Limits of the cache of prepared operations, which are weighed by their text and compiled fields. */
export const operationCacheLimits = {
  /** Memory of documents that were used again, and of those used once: documents never used again evict only these. */
  bytes: 18_000_000,
  usedOnceBytes: 6_000_000,
  /** Fields of one operation. Those of a fragment count once; merged selections of 1,000 tokens may have 100,000. */
  fields: 2_000,
  /** Compiled variants of one operation: one for each combination of the variables that its @skip and @include use. */
  variants: 8,
  fieldsOfRun: 200, // Fields of a further variant, which is compiled for one run: a millisecond.
  fieldBytes: 600, // Memory of a compiled field.
  /** Memory of a token of a parsed document, with its part of the syntax tree. */
  tokenBytes: 600,
  /** Memory of the errors of an invalid document, which hold parts of it. */
  errorBytes: 70_000,
} as const

/** Limits of documents that are kept by their hash, and sent by it: ten times what a large front end has. */
export const persistedOperationLimits = { bytes: 4_000_000, entries: 2_000 } as const

/** End of the year 9999: a greater time is a mistake, such as milliseconds. */
export const maxUnixTime = 253_402_300_799

/** Limits of requests with Min-Data-Version. */
export const versionLimits = {
  /** A commit is normally received within 0.1 s; after a longer time the client should retry. */
  waitMilliseconds: 2_000,
  /** Requests that wait for a version, or for its look-up: a hundred times what a front end needs after its own writes. */
  waiting: 1_000,
  /** Commits lock one row in turn, each for a millisecond or more: no more of them come while a request waits. */
  ahead: 2_000,
  /** Concurrent reads of old versions from the log: a short statement, and ten connections are for the reads of all. */
  lookups: 4,
  known: 1_000, // Number of cached versions from the log; each is a number and a short text.
} as const
export type VersionLimits = Readonly<Record<keyof typeof versionLimits, number>>

/** Default limits of HTTP. */
export const defaultHttpLimits = {
  // Path and query: the minimum of RFC 9110 (section 4.1), rounded. A longer query belongs in a body.
  targetBytes: 8_192,
  // A document with its variables: about thirty times GraphiQL's introspection query.
  bodyBytes: 65_536,
  // All headers with the request line: above the limit of the target, so that a long target gets its own error.
  headerBytes: 16_384,
  // Browsers behind several proxies send about 40.
  headers: 100,
  // Headers fit into a few packets: only a slow-header attack (Slowloris) takes longer.
  headersSeconds: 10,
  // The largest body on a slow mobile network takes less.
  requestSeconds: 30,
  // From the complete request to its response: a hundred times the most expensive query, less than client timeouts.
  answerSeconds: 10,
  // A connection without traffic in either direction while a request runs: its client is gone.
  silentSeconds: 60,
  // Load balancers keep idle connections for 60 s and must close first, or requests are lost.
  idleSeconds: 65,
  // Open connections, as far as there are file descriptors. An idle one takes about 10 KB.
  connections: 10_000,
  // Begun requests of one connection; those that are not answered at once are answered one after the other.
  pipelined: 16,
  // Begun requests of all connections, without the oldest of each; each takes about 5 KB of memory, and its headers.
  pipelinedInAll: 4_096,
  // Requests that wait on one connection: one read of 64 KB contains 256 requests of 256 bytes.
  waitingRequests: 256,
  // Requests that wait on all connections, without the first of each; each takes about 5 KB of memory.
  waitingInAll: 4_096,
  // Responses in production in one process: about one second of work. Clients that would wait longer must retry.
  responsesInProduction: 1_000,
  // Total size of request bodies in one process: about 500 of the largest size.
  bodiesBytes: 32 * 1024 * 1024,
} as const
export type HttpLimits = Readonly<Record<keyof typeof defaultHttpLimits, number>>

/** Maximum number of media ranges in an Accept header that are considered: browsers send about eight. */
export const acceptedTypes = 50
export const acceptedParameters = 10 // Parameters of one of these that are considered: 16 KB of them took 10 ms.
/** Maximum number of clients that a rate limit counts: each takes about 600 bytes. */
export const countedSenders = 50_000

/** How long the metrics, the result of `/ready` and the address on `/` are reused: clients may request them often. */
export const probeMilliseconds = 1_000

/** Responses in compression or waiting for it, 15 ms for a large one; others are not compressed. One client has half of them. */
export const maxConcurrentCompressions = 64
