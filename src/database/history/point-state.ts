import { Decimal, usdScale } from '../../domain/decimal.ts'
import type { VaultFees } from '../../domain/fees.ts'
import { decimalText } from '../../domain/integers/integers.ts'
import type { Range } from '../../domain/position.ts'
import { netUsd, statusOf, type VaultPhase, type VaultState, type VaultStatus } from '../../domain/vault.ts'
import { pushVarint, VarintReader, zigzag } from './varint.ts'

/*
 * The binary format of the state of an equity point:
 * 1. One byte, in mixed radix: phase (3 values), status without phase and suspension (4), whether there is a mark of this second
 *    (2), and the length of part 2 in bytes; for a length of 9 or more it holds 9, and the next byte the length.
 * 2. The amount by which the high-water mark exceeds net of flows; empty for 0, or where a mark states the high-water mark.
 * 3. With a mark of this second, the changing part of each position; else the seconds since the newest mark, empty without one.
 */

const phases: readonly (VaultPhase | null)[] = [null, 'planting', 'exiting']
const calmStatuses = ['idle', 'planting', 'attention', 'earning'] as const
/** Amounts that a mark, and each byte of part 2, add to the first byte. */
const markWeight = phases.length * calmStatuses.length
const lengthWeight = 2 * markWeight
const longLength = 9

/** The part of a position that changes from mark to mark. */
export interface ChangingPart {
  readonly range: Pick<Range<Decimal>, 'current'>
  readonly ticks?: Pick<Range<number>, 'lower' | 'current'> | undefined
  readonly pendingRewardsUsd: Decimal
}

/** Input of the state of a point. */
export interface PointState {
  readonly state: VaultState
  readonly fees: VaultFees
  readonly ts: number
  /** Time of the newest mark; null where there was none. */
  readonly markedAt: number | null
  /** Positions of the mark of this second; null where there is no mark, or an earlier batch has stored it. */
  readonly positions: readonly ChangingPart[] | null
}

/** Encodes the state of a point. */
export function encodePointState({ state, fees, ts, markedAt, positions }: PointState): Buffer {
  const above: number[] = []
  const aboveUsd = fees.isHighWaterStated ? null : fees.highWaterUsd.minus(netUsd(state))
  if (aboveUsd !== null && !aboveUsd.isZero()) pushVarint(above, aboveUsd.unitsAt(usdScale))
  const isMarked = markedAt === ts
  const { valueUsd, positions: counts } = state
  const calm = statusOf({ valueUsd, positions: counts, phase: null, suspension: null })
  const calmPlace = calmStatuses.findIndex((status) => status === calm)
  const flags = phases.indexOf(state.phase) + phases.length * calmPlace + (isMarked ? markWeight : 0)
  const length = above.length < longLength ? [] : [above.length]
  const bytes = [flags + lengthWeight * Math.min(above.length, longLength), ...length, ...above]
  if (!isMarked && markedAt !== null) pushVarint(bytes, BigInt(ts - markedAt))
  for (const position of positions ?? []) pushPosition(bytes, position)
  return Buffer.from(bytes)
}

function pushPosition(bytes: number[], { range, ticks, pendingRewardsUsd }: ChangingPart): void {
  const decimals = range.current.decimalPlaces()
  bytes.push(decimals)
  pushVarint(bytes, range.current.unitsAt(decimals))
  if (ticks !== undefined) pushVarint(bytes, zigzag(ticks.current - ticks.lower))
  pushVarint(bytes, pendingRewardsUsd.unitsAt(usdScale))
}

/** SQL of the length of parts 1 and 2 of a state. */
const headLength = (state: string): string => `(case when get_byte(${state}, 0) < ${longLength * lengthWeight}
    then 1 + get_byte(${state}, 0) / ${lengthWeight} else 2 + get_byte(${state}, 1) end)`

/** SQL of the state after an upsert: where a flow replaces a stored mark of the same second, part 3 of the mark remains. */
export const mergedState = `case
    when excluded.mark_digest is null and equity_point.mark_digest is not null and equity_point.state is not null
    then substr(excluded.state, 1, ${headLength('excluded.state')})
      || substr(equity_point.state, 1 + ${headLength('equity_point.state')})
    else excluded.state end`

/** A decoded state. */
export interface DecodedState {
  readonly phase: VaultPhase | null
  /** Status where there is neither a phase nor a suspension. */
  readonly calmStatus: VaultStatus
  /** USD by which the high-water mark exceeds net of flows, where no mark states it. */
  readonly aboveUsd: Decimal
  /** Time of the newest mark; null where there was none. */
  readonly markedAt: number | null
}

/**
 * Decodes the state of a point, without its positions.
 * @param hex its bytes as hexadecimal digits
 * @param ts time of the point
 */
export function decodePointState(hex: string, ts: number): DecodedState {
  const { reader, flags, aboveUsd } = headOf(hex)
  const ago = flags >= markWeight ? 0n : reader.isAtEnd ? null : reader.next()
  return {
    phase: phases[flags % phases.length] ?? null,
    calmStatus: calmStatuses[Math.floor(flags / phases.length) % calmStatuses.length] ?? 'idle',
    aboveUsd: new Decimal(aboveUsd),
    markedAt: ago === null ? null : ts - Number(ago),
  }
}

/** Reads the part of a state before its positions. */
function headOf(hex: string) {
  const bytes = Buffer.from(hex, 'hex')
  const first = bytes[0] ?? 0
  const reader = new VarintReader(bytes, first < longLength * lengthWeight ? 1 : 2)
  return {
    reader,
    flags: first % lengthWeight,
    aboveUsd: first < lengthWeight ? '0' : decimalText(reader.next(), usdScale),
  }
}

/** The changing part of a position, as exact text. */
export interface DecodedPosition {
  readonly priceCurrent: string
  readonly tickCurrent: number | null
  readonly pendingRewardsUsd: string
}

/**
 * Decodes the positions of a mark's point.
 * @param hex bytes of its state as hexadecimal digits
 * @param lowerTicks the lower tick of each position, null where it has none
 */
export function decodePositions(hex: string, lowerTicks: readonly (number | null)[]): DecodedPosition[] {
  const { reader } = headOf(hex)
  return lowerTicks.map((lower) => {
    const decimals = Number(reader.next())
    const priceCurrent = decimalText(reader.next(), decimals)
    const tickCurrent = lower === null ? null : lower + reader.nextSigned()
    return { priceCurrent, tickCurrent, pendingRewardsUsd: decimalText(reader.next(), usdScale) }
  })
}
