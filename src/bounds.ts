/* Bounds on everything that a stranger controls, each with its reason. */

/** The bounds of lists. */
export const listBounds = {
  /** Two points are a line; 2,000 are more than a chart has pixels. */
  points: { least: 2, most: 2_000, default: 500 },
  /** 1,000 rows are a month of an active vault, and about 300 KB. */
  events: { least: 1, most: 1_000, default: 100 },
  /** A page of vaults may be nested with positions, equity and events: 200 of them is what one answer can bear. */
  vaults: { least: 1, most: 200, default: 50 },
} as const

/** What running a query may take. */
export type QueryBounds = Readonly<Record<'bytes' | 'tokens' | 'depth' | 'aliases' | 'directives' | 'cost', number>>

/** The bounds of a query where none are configured, checked before it runs. */
export const defaultQueryBounds: QueryBounds = {
  /** Ten times the longest query of the README; GraphiQL's introspection takes 2 KB. */
  bytes: 20_000,
  /** Validation compares fields with each other: GraphiQL's introspection has about 400 tokens. */
  tokens: 1_000,
  /** GraphiQL's introspection goes 15 deep; no question about vaults needs more than 8. */
  depth: 16,
  /** An alias asks the same field again: a page that shows 50 vaults side by side has 50. */
  aliases: 50,
  /** Each is evaluated; clients use a few of @skip and @include. */
  directives: 50,
  /** Fields that an answer may have, about 1.5 MB of JSON. The dearest single list, 2,000 points, costs 14,000. */
  cost: 50_000,
}

/** What a list costs beside its items, or a count: asked for as an alias, each is read on its own. */
export const readCost = 100

/** What runs at once of queries. */
export const turnBounds = {
  /** As much as one query may cost: while the dearest runs, other dear ones wait for their turn. */
  most: 50_000,
  /** What costs no more is plain: a page of vaults for a table costs 500 to 2,000, and with some of their events twice that. */
  plainCost: 3_000,
  /** What costs no more never waits: a snapshot costs 90, a page of 50 ledger rows 500. */
  shortCost: 500,
  /** As much as plain queries cost that run at once: enough to keep the database busy while answers are written. */
  mostPlain: 40_000,
  /** How long dear work lets plain work go first: a few snapshots' time. */
  patienceMilliseconds: 50,
} as const

/** The documents that are kept parsed and validated. */
export const keptDocuments = {
  /** A front end has some dozens. One that is not valid takes 70 KB with what is wrong with it. */
  most: 200,
  /** Of their text: what was parsed of it takes some 150 times as much. */
  textBytes: 200_000,
} as const

/** How many items a list is reckoned to have whose length no argument says. */
export const assumedLengths: Readonly<Record<string, number>> = {
  strategies: 20,
  pairs: 20,
  positions: 5,
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
}
