/** The bounds of lists, each with its reason. */
export const bounds = {
  /** Two points are a line; 2,000 are more than a chart has pixels. */
  points: { least: 2, most: 2_000, default: 500 },
  /** 1,000 rows are a month of an active vault, and about 300 KB. */
  events: { least: 1, most: 1_000, default: 100 },
  /** A page of vaults may be nested with positions, equity and events: 200 of them is what one answer can bear. */
  vaults: { least: 1, most: 200, default: 50 },
} as const

/** The last second of the year 9999: a later time is surely milliseconds. */
export const maxUnixTime = 253_402_300_799
