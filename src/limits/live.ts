/** Limits of streams of server-sent events, each of which the options of `createLive` may override (`http/live`). */
export const liveLimits = {
  connections: 10_000, // Open streams of a process besides its other connections: 10 KB of memory each.
  connectionsOfSender: 20, // Open streams of a key or address: the tabs of one person.
  evaluations: 32, // Evaluations of shared responses that run at once, and as many of streams that begin: a commit may change thousands of vaults.
  evaluationMilliseconds: 5, // Time of one event-loop iteration in which they begin: cached ones take 50 us each.
  openings: 20_000, // Evaluations of streams that begin and wait for theirs: twice as many as there are streams.
  follows: 50_000, // Responses that all streams follow together: five for each stream, 500 bytes of memory each.
  responseBytes: 64 * 1024 * 1024, // Responses that are kept for streams: 700 of the largest subscription.
  documentBytes: 64 * 1024 * 1024, // Prepared documents of open subscriptions: 5,000 of 20 tokens, or 100 of the most tokens.
  pushFactor: 10, // Rest after an evaluation, in times of what it took: slow ones take a tenth of the time.
  pushMilliseconds: 250, // Minimum time between two pushes of one state: four a second are a smooth display.
  unsentBytes: 65_536, // Bytes that a client has not read, beyond which nothing is written: one read of a socket.
  unsentInAll: 64 * 1024 * 1024, // Such bytes of all streams: beyond it the largest of the sender with most are closed.
  stallSeconds: 30, // Time to read them, or the end: a client that takes longer has gone, or should poll.
  heartbeatSeconds: 15, // Proxies close connections that are silent for 30 to 60 s.
  lifeSeconds: 3_600, // Then a client reconnects, so that load spreads over the gateways; plus or minus a tenth.
  retrySeconds: 4, // Mean time after which clients reconnect, at random: not all at once.
  characters: 8_192, // A subscription with its variables, which is kept as long as its stream.
  rowMilliseconds: 10_000, // Time to make one row: on a silent connection all its streams would wait.
  ledgerProductionMilliseconds: 250, // Time of one stream to make rows of one read: then others take their turn.
  ledgerReads: 2, // Streams that read old rows at once: each holds a page of them in its turn, and keeps the process busy.
  ledgerEnds: 4, // Streams that begin and read the end of the log at once: a short statement.
  ledgerWindow: 2_000, // Newest commits and rows that are in memory: most streams read no others.
  frameBytes: 8 * 1024 * 1024, // Frames of rows that are kept for all streams: 8,000 of 500 bytes.
  slice: 500, // Sockets that are written in one event-loop iteration: 10 ms.
  sliceMilliseconds: 10, // Time of one iteration for that, if fewer take as long.
  rowsAtOnce: 32, // Rows of one stream that are made at once, so that their reads share statements.
  rowBytesAtOnce: 262_144, // Bytes of these, by the longest row before: fewer rows are made at once where they are long.
} as const

export type LiveLimits = Readonly<Record<keyof typeof liveLimits, number>>

/** Maximum number of vaults of one stream, which the schema states: a page of them, each evaluated by itself. */
export const maxStreamVaults = 100

/** Limits of subscriptions, besides those of all queries: the executor applies both. */
export const subscriptionLimits = {
  cost: 3_000, // It runs again at each change: that of a cheap query.
  responseCharacters: 500_000, // Characters of one event's data: five times the most expensive subscription.
} as const

/** Limits of one read of the ledger rows of commits (`graphql/ledger-log.ts`). */
export const ledgerLogLimits = {
  rows: 500, // About 150 KB. Of a commit with more, a part; only new commits are read whole, once for all streams.
  commits: 1_000, // Those without ledger rows cost little.
  milliseconds: 10_000, // On a silent connection all streams would wait.
} as const

export type LedgerLogLimits = Readonly<Record<keyof typeof ledgerLogLimits, number>>
