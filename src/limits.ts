/* Every limit on what a client controls, each with its reason: first those of queries, then those of HTTP. */

/** The bounds of lists. */
export const listLimits = {
  /** Two points are a line; 2,000 are more than a chart has pixels. */
  points: { least: 2, most: 2_000, default: 500 },
  /** 1,000 rows are a month of an active vault, and about 300 KB. */
  events: { least: 1, most: 1_000, default: 100 },
  /** A page of vaults may be nested with positions, equity and events: 200 of them is what one answer can bear. */
  vaults: { least: 1, most: 200, default: 50 },
} as const

/** The bounds of input lists that have no enum's size: owners or strategies to filter by. As many as a page has vaults. */
export const mostFilterValues = 200

/** The bound of the ids that `nodes` takes: each may be of a vault, of which a page has as many. */
export const mostIds = 200

/** The bound of a cursor's text: those that are given have at most 160 characters. */
export const mostCursorCharacters = 300

/** The bounds of a query where none are configured, checked before it runs. */
export const defaultQueryLimits = {
  /** Ten times the longest query of the README; GraphiQL's introspection takes 2 KB. */
  bytes: 20_000,
  /** Validation compares fields with each other: GraphiQL's introspection has about 400 tokens. */
  tokens: 1_000,
  /** Fields of one name in one selection: validation compares each with each other. Clients that join selections repeat a few. */
  repeats: 100,
  /** Keys and strings of all variables, before they are coerced: three filters of 200 owners take 26,000. */
  variableCharacters: 40_000,
  /** Values of all variables, nested ones too, before they are coerced: each address takes a hash. Two full filters have 800. */
  variableValues: 1_000,
  /** GraphiQL's introspection goes 15 deep; no question about vaults needs more than 8. */
  depth: 16,
  /** An alias asks the same field again: a page that shows 50 vaults side by side has 50. */
  aliases: 50,
  /** Each is evaluated; clients use a few of @skip and @include. */
  directives: 50,
  /** Fields that an answer may have, about 1.5 MB of JSON. The dearest single list, 2,000 points, costs 14,000. */
  cost: 50_000,
} as const

export type QueryLimits = Readonly<Record<keyof typeof defaultQueryLimits, number>>

/** What a list costs beside its items, or a count: asked for as an alias, each is read on its own. */
export const readCost = 100

/**
 * What a total of ledger rows costs: it counts them, and 300,000 rows take the database as long as 3,000 fields take in
 * all.
 */
export const ledgerCountCost = 3_000

/**
 * The cost of preparing a request, in the unit of query cost by CPU time: 1,000 tokens take 15 to 30 ms to parse and
 * validate, 64 KB of JSON 2 ms to parse, 1,000 variable values as many hashes where they are addresses.
 */
export const preparationCosts = { token: 10, bodyByte: 1 / 64, variableValue: 10 } as const

/** Errors of an invalid document that are told: each takes time to find and to word. */
export const mostValidationErrors = 10

/** Characters of an error's message that are served: it may repeat what was sent. */
export const mostMessageCharacters = 1_000

/** What runs and waits at once of queries, in units of cost. */
export const admissionLimits = {
  /** As much as one query may cost: while the most expensive runs, other expensive ones wait. */
  mostExpensive: 50_000,
  /** What costs no more is cheap: a page of vaults for a table costs 500 to 2,000, and with some of their events twice that. */
  cheapCost: 3_000,
  /** What costs no more never waits: a snapshot costs 90, a page of 50 ledger rows 500. */
  shortCost: 500,
  /** Preparation that costs no more never waits: half a millisecond. */
  shortPreparation: 250,
  /** Other preparation at once: some milliseconds of CPU, after which the event loop handles other requests. */
  mostPreparation: 2_000,
  /** As much as cheap queries cost that run at once: enough to keep the database busy while answers are written. */
  mostCheap: 40_000,
  /** How long expensive work waits for a moment without cheap work: a few snapshots' time. */
  yieldMilliseconds: 50,
  /** Who comes later would be answered after the deadline, and each holds its request in memory. */
  mostWaiting: 1_000,
  /** So that one sender leaves room for others. */
  mostWaitingOfSender: 500,
} as const

/** The cache of prepared documents: parsed, validated, priced and compiled. Each weighs with its text and its fields. */
export const operationCacheLimits = {
  bytes: 24_000_000,
  /** Compiled fields of one operation. Those of a fragment count once; merged selections can make 100,000 of 1,000 tokens. */
  fields: 2_000,
  /** Compiled variants of one operation: one for each combination of the variables that its @skip and @include use. */
  variants: 8,
  /** Memory of a compiled field. */
  fieldBytes: 600,
  /** Memory of a parsed document, as a multiple of its text. */
  characterBytes: 150,
  /** Memory of the errors of an invalid document, which hold parts of it. */
  errorBytes: 70_000,
} as const

/** How many items a list is reckoned to have whose length no argument says. */
export const assumedLengths: Readonly<Record<string, number>> = {
  strategies: 20,
  pairs: 20,
  positions: 5,
  feeds: 5,
  assets: 50,
  venues: 3,
  // What introspection lists of this schema.
  types: 40,
  fields: 8,
  args: 2,
  inputFields: 3,
  enumValues: 6,
  directives: 5,
  interfaces: 1,
  possibleTypes: 1,
  locations: 5,
}

/** The last second of the year 9999: a later time is surely milliseconds. */
export const maxUnixTime = 253_402_300_799

/** Limits of requests with Min-Data-Version. */
export const versionLimits = {
  /** A feed that is at its end is heard of within a tenth of a second: what takes longer had better be asked again. */
  waitMilliseconds: 2_000,
  /** Each holds a connection and a timer; a hundred times as many as a front end has that shows what it has just written. */
  waiting: 1_000,
  /** Commits lock one row in turn, each for a millisecond or more: no more of them come in the time that is waited. */
  ahead: 2_000,
  /** Old versions are read from the log one by one: a few at once keep the database free for what is asked of it. */
  lookups: 20,
  /** Versions read from the log are remembered; a number and a text each. */
  known: 1_000,
} as const

export type VersionLimits = Readonly<Record<keyof typeof versionLimits, number>>

/** The bounds of HTTP where none are configured. */
export const defaultHttpLimits = {
  // Path and query: what RFC 9110 asks every server to take, in round figures. A longer query goes into a body.
  targetBytes: 8_192,
  // A document and its variables: some thirty times GraphiQL's introspection, and little enough to hold for many at once.
  bodyBytes: 65_536,
  // All headers with the request line: above the target's bound, so that a target is refused by its own.
  headerBytes: 16_384,
  // Browsers behind several proxies send about 40.
  headers: 100,
  // Headers fit a few packets, so only an attacker who holds connections open is slower.
  headersSeconds: 10,
  // The largest body on the slowest mobile network takes less.
  requestSeconds: 30,
  // From a whole request to its answer: a hundred times what the dearest takes alone, and less than most clients wait.
  answerSeconds: 10,
  // A connection on which nothing moves, in either direction, while a request runs: its other end is gone.
  silentSeconds: 60,
  // Load balancers keep connections for 60 s: the one who closes first must be they, or requests get lost.
  idleSeconds: 65,
  // Connections that are open at once, where there are file descriptors for them. An idle one takes some 10 KB.
  connections: 10_000,
  // Requests of one connection that run at once. Browsers don't pipeline; one connection shall do no more than a few can.
  pipelined: 16,
  // Requests that were read from a connection and wait for those before them: one read is 64 KB, so 256 bytes each.
  waitingRequests: 256,
  // The same of all connections together. Each takes some 5 KB of memory.
  waitingInAll: 4_096,
  // Answers that one process makes at once: what it makes in about a second. Who would wait longer is told to come back.
  answersUnderWay: 1_000,
  // Bodies that one process holds at once: some 500 of the largest that may be, or all of a busy gateway's.
  bodiesBytes: 32 * 1024 * 1024,
} as const

export type HttpLimits = Readonly<Record<keyof typeof defaultHttpLimits, number>>

/** Media ranges of an Accept header that are looked at: browsers send about eight. */
export const acceptedTypes = 50

/** Senders whose requests a rate limit counts at once: each takes some 600 bytes. */
export const countedSenders = 50_000

/**
 * Chunks of one body: each takes some 10 us to parse, however small it is, so that 64 KB in chunks of a byte take half a
 * second. Clients that stream a body send chunks of a kilobyte and more.
 */
export const bodyChunks = 1_000

/** Of the body of a request that was refused, so much is read off its connection; a client that sends more is cut. */
export const discardedBytes = 1024 * 1024

/**
 * Bytes of answers that wait for clients that read slowly, in one process: some 40 of the largest answers, or those of
 * some thousand mobile clients. Beyond that the connections that hold the most are cut.
 */
export const unsentBytes = 64 * 1024 * 1024

/** What connections leave to others, and say of themselves. */
export const connectionLimits = {
  /** File descriptors for all else: files of the embedded database (20 at rest), pages, the metrics. */
  reservedDescriptors: 256,
  /** To the port of the metrics: a few Prometheus servers, and people who look. */
  metricsConnections: 64,
  /** New connections whose first 64 KB are read in one iteration of the event loop: they take up to 50 ms each to parse. */
  readPerIteration: 2,
  /** How often refused ones are logged at most: each line tells how many there were since the last. */
  refusedReportSeconds: 60,
} as const

/**
 * How long the metrics' text, what `/ready` asks and the address on `/` stand: anybody may ask, and Prometheus asks every
 * 15 s.
 */
export const probeMilliseconds = 1_000

/** Answers that are packed at once, or wait for one of Node's four threads: 15 ms for a large one. Others go as they are. */
export const mostPacking = 32

/** The time to read an answer in: as on the slowest mobile network. Without it, a byte now and then would hold it for ever. */
export const readLimits = { graceSeconds: 10, bytesPerSecond: 1_000 } as const
