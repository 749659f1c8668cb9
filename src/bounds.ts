/* Bounds of queries, each with its reason; those of HTTP stand in http-bounds.ts. */

/** The bounds of lists. */
export const listBounds = {
  /** Two points are a line; 2,000 are more than a chart has pixels. */
  points: { least: 2, most: 2_000, default: 500 },
  /** 1,000 rows are a month of an active vault, and about 300 KB. */
  events: { least: 1, most: 1_000, default: 100 },
  /** A page of vaults may be nested with positions, equity and events: 200 of them is what one answer can bear. */
  vaults: { least: 1, most: 200, default: 50 },
} as const

/** The bounds of input lists that have no enum's size: owners or strategies to filter by. As many as a page has vaults. */
export const mostFilterValues = 200

/** The bound of a cursor's text: those that are given have at most 160 characters. */
export const mostCursorCharacters = 300

/** What running a query may take. */
export type QueryBounds = Readonly<
  Record<
    | 'bytes'
    | 'tokens'
    | 'repeats'
    | 'variableCharacters'
    | 'variableValues'
    | 'depth'
    | 'aliases'
    | 'directives'
    | 'cost',
    number
  >
>

/** The bounds of a query where none are configured, checked before it runs. */
export const defaultQueryBounds: QueryBounds = {
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
}

/** What a list costs beside its items, or a count: asked for as an alias, each is read on its own. */
export const readCost = 100

/**
 * What a total of ledger rows costs: it counts them, and 300,000 rows take the database as long as 3,000 fields take in
 * all.
 */
export const ledgerCountCost = 3_000

/**
 * What a document costs that is not known yet, by its tokens: 1,000 of them take 15 to 30 ms to parse and validate, as
 * long as 10,000 fields.
 */
export const tokenCost = 10

/** Errors of an invalid document that are told: each takes time to find and to word. */
export const mostValidationErrors = 10

/** Characters of an error's message that are served: it may repeat what was sent. */
export const mostMessageCharacters = 1_000

/** What runs and waits at once of queries, in units of cost. */
export const admissionBounds = {
  /** As much as one query may cost: while the most expensive runs, other expensive ones wait. */
  mostExpensive: 50_000,
  /** What costs no more is cheap: a page of vaults for a table costs 500 to 2,000, and with some of their events twice that. */
  cheapCost: 3_000,
  /** What costs no more never waits: a snapshot costs 90, a page of 50 ledger rows 500. */
  shortCost: 500,
  /** As much as cheap queries cost that run at once: enough to keep the database busy while answers are written. */
  mostCheap: 40_000,
  /** How long expensive work waits for a moment without cheap work: a few snapshots' time. */
  yieldMilliseconds: 50,
  /** Who comes later would be answered after the deadline, and each holds its request in memory. */
  mostWaiting: 1_000,
  /** So that one sender leaves room for others. */
  mostWaitingOfSender: 500,
} as const

/** The documents that are kept parsed and validated. */
export const keptDocuments = {
  /** A front end has some dozens. One that is not valid takes 70 KB with what is wrong with it. */
  most: 200,
  /** Of their text: what was parsed of it takes some 150 times as much. */
  textBytes: 200_000,
} as const

/** The plans of operations that are kept. */
export const keptPlans = {
  /** Fields of one. A fragment's count once; where selections of one name are joined, 1,000 tokens can come to 100,000. */
  mostFields: 2_000,
  /** Of all plans, with the documents that they hold. */
  bytes: 24_000_000,
  /** What a planned field takes. */
  fieldBytes: 600,
  /** What is parsed of a document takes so many times its text. */
  characterBytes: 150,
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
