import { type Address, toAddress } from '../../domain/address.ts'
import type { Decimal } from '../../domain/decimal.ts'
import { maxUnixTime } from '../../limits.ts'
import { plainDecimal } from './decimal-text.ts'
import { type MarkFact, maxFeeTier, maxInt32, maxNameCharacters, priceBounds, usdBounds } from './fact.ts'

type Entries = Readonly<Record<string, unknown>>
type MarkPosition = MarkFact['positions'][number]

/**
 * Reads a mark in its usual form, with decimals as plain strings, which nearly all facts have: several
 * times as fast as the schema. A test compares the two.
 * @returns null for any other value, valid or not, which the schema validates
 */
export function readUsualMark(value: unknown): MarkFact | null {
  if (!isPlainObject(value) || value['kind'] !== 'mark') return null
  const feesKey = feesKeyOf(value)
  if (feesKey === null || !hasOnly(feesKey === '' ? 6 : 7, value)) return null
  const ts = integer(value['ts'], 0, maxUnixTime)
  const vault = address(value['vault'])
  const valueUsd = usd(value['valueUsd'])
  if (ts === null || vault === null || valueUsd === null) return null
  const [prices, positions] = [pricesOf(value['prices']), positionsOf(value['positions'])]
  if (prices === null || positions === null) return null
  const read = { kind: 'mark' as const, ts, vault, valueUsd, prices, positions }
  if (feesKey === '') return read
  const [fees, highWaterValueUsd] = [feesOf(value['fees']), usd(value['highWaterValueUsd'])]
  if (feesKey === 'fees') return fees === null ? null : { ...read, fees }
  return highWaterValueUsd === null ? null : { ...read, highWaterValueUsd }
}

/** Returns the key by which a mark states fees, empty where it states none; null where it has both keys, which is bad. */
function feesKeyOf(value: Entries): 'fees' | 'highWaterValueUsd' | '' | null {
  if (value['fees'] === undefined) return value['highWaterValueUsd'] === undefined ? '' : 'highWaterValueUsd'
  return value['highWaterValueUsd'] === undefined ? 'fees' : null
}

const usd = plainDecimal(usdBounds)
const price = plainDecimal(priceBounds)

/** Returns whether a value is an object with this number of keys: the caller reads all of them, so that no other key fits in. */
function hasOnly(keys: number, value: unknown): value is Entries {
  if (!isPlainObject(value)) return false
  let count = 0
  for (const _ in value) count++
  return count === keys
}

function isPlainObject(value: unknown): value is Entries {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function integer(value: unknown, min: number, max: number): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max ? value : null
}

function name(value: unknown): string | null {
  if (typeof value !== 'string' || value.length < 1 || value.length > maxNameCharacters) return null
  return /^[\x20-\x7e]*$/.test(value) ? value : null
}

function address(value: unknown): Address | null {
  if (typeof value !== 'string') return null
  try {
    return toAddress(value)
  } catch {
    return null
  }
}

function pricesOf(value: unknown): Record<string, Decimal> | null {
  if (!isPlainObject(value)) return null
  const prices: Record<string, Decimal> = {}
  for (const symbol of Object.keys(value)) {
    const read = name(symbol) === null || symbol === '__proto__' ? null : price(value[symbol])
    if (read === null) return null
    prices[symbol] = read
  }
  return prices
}

function feesOf(value: unknown): NonNullable<MarkFact['fees']> | null {
  if (!hasOnly(4, value)) return null
  const [contributedUsd, withdrawnUsd] = [usd(value['contributedUsd']), usd(value['withdrawnUsd'])]
  const [taxedUsd, highWaterUsd] = [usd(value['taxedUsd']), usd(value['highWaterUsd'])]
  if (contributedUsd === null || withdrawnUsd === null || taxedUsd === null || highWaterUsd === null) return null
  return { contributedUsd, withdrawnUsd, taxedUsd, highWaterUsd }
}

function positionsOf(value: unknown): MarkPosition[] | null {
  if (!Array.isArray(value)) return null
  const positions: MarkPosition[] = []
  for (const each of value) {
    const position = positionOf(each)
    if (position === null) return null
    positions.push(position)
  }
  const hasTwins = positions.length > 1 && new Set(positions.map(({ id }) => id)).size < positions.length
  return hasTwins ? null : positions
}

function positionOf(value: unknown): MarkPosition | null {
  const hasTicks = hasOnly(5, value)
  if (!hasTicks && !hasOnly(4, value)) return null
  const [id, pool, range] = [name(value['id']), poolOf(value['pool']), rangeOf(value['range'], price)]
  const ticks = hasTicks ? rangeOf(value['ticks'], (tick) => integer(tick, -maxInt32, maxInt32)) : undefined
  const pendingRewardsUsd = usd(value['pendingRewardsUsd'])
  if (id === null || pool === null || range === null || ticks === null || pendingRewardsUsd === null) return null
  if (range.lower.greaterThan(range.upper) || (ticks !== undefined && ticks.lower > ticks.upper)) return null
  return { id, pool, range, ...(ticks !== undefined && { ticks }), pendingRewardsUsd }
}

function poolOf(value: unknown): MarkPosition['pool'] | null {
  if (!hasOnly(4, value)) return null
  const [a, b, venue] = [name(value['a']), name(value['b']), name(value['venue'])]
  const feeTier = integer(value['feeTier'], 0, maxFeeTier)
  return a === null || b === null || venue === null || feeTier === null ? null : { a, b, venue, feeTier }
}

function rangeOf<Value>(
  value: unknown,
  read: (value: unknown) => Value | null,
): { lower: Value; upper: Value; current: Value } | null {
  if (!hasOnly(3, value)) return null
  const [lower, upper, current] = [read(value['lower']), read(value['upper']), read(value['current'])]
  return lower === null || upper === null || current === null ? null : { lower, upper, current }
}
