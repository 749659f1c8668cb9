import { z } from 'zod'
import { type Address, toAddress } from '../domain/address.ts'

/** One or two pools that lead to a stable token, or to one with a feed. */
export interface PoolSource {
  readonly pools: readonly Address[]
  /** Period of the time-weighted average price from `observe`; absent for the price at the end of a block. */
  readonly twapSeconds?: number | undefined
}

/** A Chainlink feed in USD. */
export interface FeedSource {
  readonly feed: Address
  /** Maximum age of an answer; an older one is refused. */
  readonly maxAgeSeconds: number
}

/** A source whose price is refused where it differs from a second source by more than a limit. */
export interface CheckedSource {
  readonly source: PoolSource | FeedSource
  readonly second: PoolSource | FeedSource
  readonly maxDifferencePercent: number
}

/** The price of another token, for example the wrapped coin's price for the chain's native coin. */
export interface SameSource {
  readonly sameAs: Address
}

/** Source of a token's price. A stable token is worth 1 USD. */
export type PriceSource = 'stable' | PoolSource | FeedSource | CheckedSource | SameSource

/** Returns whether a source is the price of pools at the end of a block. */
export function isSpot(price: PriceSource): price is PoolSource {
  return price !== 'stable' && 'pools' in price && price.twapSeconds === undefined
}

/** Returns whether a source is the price of another token. */
export function isSame(price: PriceSource): price is SameSource {
  return price !== 'stable' && 'sameAs' in price
}

/** Returns the Chainlink feed of a source; null where the source has none. */
export function feedOf(price: Exclude<PriceSource, 'stable'>): FeedSource | null {
  if (isSame(price)) return null
  const source = 'source' in price ? price.source : price
  return 'feed' in source ? source : null
}

/** Parses an address. */
export const addressField = z.string().transform((text, context) => {
  try {
    return toAddress(text)
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message })
    return z.NEVER
  }
})

const pools = z.array(addressField).min(1).max(2)
const poolSource = z.strictObject({ pools, twapSeconds: z.number().int().min(1).max(604_800).optional() })
const feedSource = z.strictObject({ feed: addressField, maxAgeSeconds: z.number().int().min(1).max(31_536_000) })
/** Parses the price of a token. */
export const priceSource = z
  .union([
    z.literal('stable'),
    pools,
    poolSource,
    feedSource,
    z.strictObject({ sameAs: addressField }),
    z.strictObject({
      source: z.union([poolSource, feedSource]),
      second: z.union([poolSource, feedSource]),
      maxDifferencePercent: z.number().min(0.000_001).max(100),
    }),
  ])
  .transform((price): PriceSource => (Array.isArray(price) ? { pools: price } : price))
