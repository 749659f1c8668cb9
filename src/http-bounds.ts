/* Bounds of HTTP, each with its reason; those of queries stand in bounds.ts. */

/** What requests with Min-Data-Version may hold and wait for. */
export type VersionBounds = Readonly<Record<'waitMilliseconds' | 'waiting' | 'lookups' | 'known', number>>

export const versionBounds: VersionBounds = {
  /** A feed that is at its end is heard of within a tenth of a second: what takes longer had better be asked again. */
  waitMilliseconds: 2_000,
  /** Each holds a connection and a timer; a hundred times as many as a front end has that shows what it has just written. */
  waiting: 1_000,
  /** Old versions are read from the log one by one: a few at once keep the database free for what is asked of it. */
  lookups: 20,
  /** Versions read from the log are remembered; a number and a text each. */
  known: 1_000,
}

/** What a stranger may make the gateway hold or wait for, by HTTP. */
export interface Bounds {
  readonly targetBytes: number
  readonly bodyBytes: number
  readonly headerBytes: number
  readonly headers: number
  readonly headersSeconds: number
  readonly requestSeconds: number
  readonly answerSeconds: number
  readonly silentSeconds: number
  readonly idleSeconds: number
  readonly connections: number
  readonly pipelined: number
  readonly waitingRequests: number
  readonly waitingInAll: number
  readonly answersUnderWay: number
  readonly bodiesBytes: number
}

/** The bounds of HTTP where none are configured. */
export const defaultBounds: Bounds = {
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
}

/** Media ranges of an Accept header that are looked at: browsers send about eight. */
export const acceptedTypes = 50

/** Senders whose requests a rate limit counts at once: each takes some 600 bytes. */
export const countedSenders = 50_000

/** Of the body of a request that was refused, so much is read off its connection; a client that sends more is cut. */
export const discardedBytes = 1024 * 1024

/**
 * Bytes of answers that wait for clients that read slowly, in one process: some 40 of the largest answers, or those of
 * some thousand mobile clients. Beyond that the connections that hold the most are cut.
 */
export const unsentBytes = 64 * 1024 * 1024

/** What connections leave to others, and say of themselves. */
export const connectionBounds = {
  /** File descriptors for all else: files of the embedded database (20 at rest), pages, the metrics. */
  reservedDescriptors: 256,
  /** To the port of the metrics: a few Prometheus servers, and people who look. */
  metricsConnections: 64,
  /** How often refused ones are logged at most: each line tells how many there were since the last. */
  refusedReportSeconds: 60,
} as const

/** How long the metrics' text and what `/ready` asks stand: anybody may ask, and Prometheus asks every 15 s. */
export const probeMilliseconds = 1_000

/** Answers that are packed at once, or wait for one of Node's four threads: 15 ms for a large one. Others go as they are. */
export const mostPacking = 32

/** The time to read an answer in: as on the slowest mobile network. Without it, a byte now and then would hold it for ever. */
export const readBounds = { graceSeconds: 10, bytesPerSecond: 1_000 } as const
