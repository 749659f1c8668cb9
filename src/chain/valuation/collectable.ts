import type { Amounts } from '../venues/liquidity-math.ts'
import type { Position } from '../venues/venue.ts'

type Collected = Pick<Position, 'account' | 'credited' | 'accrued'>

/**
 * Adds to positions of one owner the amounts that collecting would pay, in smallest units: credited and accrued
 * amounts, up to the rest in the venue's account, which earlier positions in the list reduce.
 */
export function withCollectable<One extends Collected>(positions: readonly One[]): (One & { collectable: Amounts })[] {
  const left = new Map<string, Amounts>()
  for (const { account } of positions) left.set(account.key, map(larger, account.owed, left.get(account.key)))
  return positions.map((position) => {
    const { account, credited, accrued } = position
    const rest = left.get(account.key) ?? account.owed
    const collectable = map(smaller, map(plus, credited, accrued), rest)
    left.set(account.key, map(minus, rest, collectable))
    return { ...position, collectable }
  })
}

const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)
const smaller = (one: bigint, other: bigint): bigint => (one < other ? one : other)
const plus = (one: bigint, other: bigint): bigint => one + other
const minus = (one: bigint, other: bigint): bigint => one - other

function map(work: (one: bigint, other: bigint) => bigint, one: Amounts, other: Amounts = one): Amounts {
  return [work(one[0], other[0]), work(one[1], other[1])]
}
