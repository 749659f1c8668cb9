import { type Address, toAddress } from '../../domain/address.ts'
import type { Decimal } from '../../domain/decimal.ts'
import type { Range } from '../../domain/position.ts'
import { maxUnixTime } from '../../limits.ts'
import { type DecimalBounds, plainDecimal } from './decimal-text.ts'
import { type MarkFact, maxFeeTier, maxInt32, maxNameCharacters, priceBounds, usdBounds } from './fact.ts'
import {
  entriesOf,
  integerReader,
  listReader,
  objectReader,
  optional,
  quotedReader,
  readWhole,
  required,
  where,
} from './usual-json.ts'

type MarkPosition = MarkFact['positions'][number]

/**
 * Reads the line of a mark in its usual form, in ASCII, with decimals as plain texts and nothing escaped, as nearly all lines
 * are: several times as fast as by JSON and schema. A test compares the two.
 * @returns null for any other line, good or bad, which the schema decides about
 */
export function readUsualMark(bytes: Buffer): MarkFact | null {
  // Each byte beyond ASCII becomes a character that no reader takes.
  const text = bytes.toString('latin1')
  return text.includes('"mark"') && !text.includes('\\') ? readWhole(usualMark, text) : null
}

const name = where(
  quotedReader((text) => text),
  (text) => text.length <= maxNameCharacters && /^[\x20-\x7e]+$/.test(text),
)
const usd = decimal(usdBounds)
const price = decimal(priceBounds)
const tick = integerReader(-maxInt32, maxInt32)

const prices = objectReader<Range<Decimal>>(
  { lower: price, upper: price, current: price },
  ({ lower, upper, current }) => ({ lower, upper, current }),
)
const ticks = objectReader<Range<number>>({ lower: tick, upper: tick, current: tick }, ({ lower, upper, current }) => ({
  lower,
  upper,
  current,
}))
const pool = objectReader<MarkPosition['pool']>(
  { a: name, b: name, venue: name, feeTier: integerReader(0, maxFeeTier) },
  ({ a, b, venue, feeTier }) => ({ a, b, venue, feeTier }),
)

const position = objectReader<MarkPosition>(
  {
    id: name,
    pool,
    range: where(prices, ({ lower, upper }) => lower.lessThanOrEqualTo(upper)),
    ticks: optional(where(ticks, ({ lower, upper }) => lower <= upper)),
    pendingRewardsUsd: usd,
  },
  ({ id, pool, range, ticks, pendingRewardsUsd }) =>
    ticks === undefined ? { id, pool, range, pendingRewardsUsd } : { id, pool, range, ticks, pendingRewardsUsd },
)

const fees = objectReader<NonNullable<MarkFact['fees']>>(
  { contributedUsd: usd, withdrawnUsd: usd, taxedUsd: usd, highWaterUsd: usd },
  ({ contributedUsd, withdrawnUsd, taxedUsd, highWaterUsd }) => ({
    contributedUsd,
    withdrawnUsd,
    taxedUsd,
    highWaterUsd,
  }),
)

const usualMark = objectReader<MarkFact>(
  {
    kind: quotedReader((text) => required(text === 'mark' ? text : null)),
    ts: integerReader(0, maxUnixTime),
    vault: quotedReader(address),
    valueUsd: usd,
    prices: entriesOf(name, price),
    positions: where(listReader(position), (all) => new Set(all.map(({ id }) => id)).size === all.length),
    fees: optional(fees),
    highWaterValueUsd: optional(usd),
  },
  ({ ts, vault, valueUsd, prices, positions, fees, highWaterValueUsd }) => {
    const mark = { kind: 'mark' as const, ts, vault, valueUsd, prices, positions }
    if (fees !== undefined && highWaterValueUsd !== undefined) return required<MarkFact>(null)
    if (fees !== undefined) return { ...mark, fees }
    return highWaterValueUsd === undefined ? mark : { ...mark, highWaterValueUsd }
  },
)

function decimal(bounds: DecimalBounds) {
  const read = plainDecimal(bounds)
  return quotedReader((text) => required(read(text)))
}

function address(text: string): Address {
  try {
    return toAddress(text)
  } catch {
    return required<Address>(null)
  }
}
