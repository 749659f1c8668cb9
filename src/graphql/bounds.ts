/** The bounds of lists, each with its reason. */
export const bounds = {
  /** Two points are a line; 2,000 are more than a chart has pixels. */
  points: { least: 2, most: 2_000, default: 500 },
  /** 1,000 rows are a month of an active vault, and about 300 KB. */
  events: { least: 1, most: 1_000, default: 100 },
  /** A page of vaults may be nested with positions, equity and events: 200 of them is what one answer can bear. */
  vaults: { least: 1, most: 200, default: 50 },
} as const

/** The bounds of a query, checked before it runs, each with its reason. */
export const queryBounds = {
  /** Ten times the longest query of the README; GraphiQL's introspection takes 2 KB. */
  bytes: 20_000,
  /** Parsing is linear in tokens; GraphiQL's introspection has about 400. */
  tokens: 2_000,
  /** GraphiQL's introspection goes 15 deep; no question about vaults needs more than 8. */
  depth: 16,
  /** An alias asks the same field again: a page that shows 50 vaults side by side has 50. */
  aliases: 50,
  /** Each is evaluated; clients use a few of @skip and @include. */
  directives: 50,
  /** Fields that an answer may have, about 1.5 MB of JSON. The dearest single list, 2,000 points, costs 14,000. */
  cost: 50_000,
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
