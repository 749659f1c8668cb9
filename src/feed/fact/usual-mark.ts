import { type Address, toAddress } from '../../domain/address.ts'
import type { Decimal } from '../../domain/decimal.ts'
import type { Range } from '../../domain/position.ts'
import { maxUnixTime } from '../../limits.ts'
import { type DecimalBounds, plainDecimal } from './decimal-text.ts'
import { type MarkFact, maxFeeTier, maxInt32, maxNameCharacters, priceBounds, usdBounds } from './fact.ts'
import { entriesOf, integer, listOf, objectOf, optional, quoted, readWhole, required, where } from './usual-json.ts'

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
  quoted((text) => text),
  (text) => text.length <= maxNameCharacters && /^[\x20-\x7e]+$/.test(text),
)
const usd = decimal(usdBounds)
const price = decimal(priceBounds)
const tick = integer(-maxInt32, maxInt32)

const prices = objectOf<Range<Decimal>>({ lower: price, upper: price, current: price })
const ticks = objectOf<Range<number>>({ lower: tick, upper: tick, current: tick })

const position = objectOf<MarkPosition>({
  id: name,
  pool: objectOf<MarkPosition['pool']>({ a: name, b: name, venue: name, feeTier: integer(0, maxFeeTier) }),
  range: where(prices, ({ lower, upper }) => lower.lessThanOrEqualTo(upper)),
  ticks: optional(where(ticks, ({ lower, upper }) => lower <= upper)),
  pendingRewardsUsd: usd,
})

const fees = objectOf<NonNullable<MarkFact['fees']>>({
  contributedUsd: usd,
  withdrawnUsd: usd,
  taxedUsd: usd,
  highWaterUsd: usd,
})

const usualMark = where(
  objectOf<MarkFact>({
    kind: quoted((text) => required(text === 'mark' ? text : null)),
    ts: integer(0, maxUnixTime),
    vault: quoted(address),
    valueUsd: usd,
    prices: entriesOf(name, price),
    positions: where(listOf(position), (all) => new Set(all.map(({ id }) => id)).size === all.length),
    fees: optional(fees),
    highWaterValueUsd: optional(usd),
  }),
  (mark) => mark.fees === undefined || mark.highWaterValueUsd === undefined,
)

function decimal(bounds: DecimalBounds) {
  const read = plainDecimal(bounds)
  return quoted((text) => required(read(text)))
}

function address(text: string): Address {
  try {
    return toAddress(text)
  } catch {
    return required<Address>(null)
  }
}
