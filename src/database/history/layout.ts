import { hash } from 'node:crypto'
import type { Decimal } from '../../domain/decimal.ts'
import type { Range } from '../../domain/position.ts'

/** The part of a position that is mostly the same from mark to mark. */
export interface StayingPart {
  readonly id: string
  readonly pool: { readonly a: string; readonly b: string; readonly venue: string; readonly feeTier: number }
  readonly range: Pick<Range<Decimal>, 'lower' | 'upper'>
  readonly ticks?: Pick<Range<number>, 'lower' | 'upper'> | undefined
}

/** The staying parts of a mark's positions, with a digest to detect a change. */
export interface Layout {
  /** JSON text of rows. */
  readonly positions: string
  /** 16 hexadecimal digits: the first 64 bits of SHA-256. */
  readonly digest: string
}

/** A row of a layout: id, pool, prices and ticks of the range. */
export type LayoutRow = readonly [
  id: string,
  a: string,
  b: string,
  venue: string,
  feeTier: number,
  priceLower: string,
  priceUpper: string,
  tickLower: number | null,
  tickUpper: number | null,
]

/** Returns the layout of a mark's positions. */
export function layoutOf(positions: readonly StayingPart[]): Layout {
  const rows = positions.map(({ id, pool, range, ticks }): LayoutRow => [
    id,
    pool.a,
    pool.b,
    pool.venue,
    pool.feeTier,
    range.lower.toFixed(),
    range.upper.toFixed(),
    ticks?.lower ?? null,
    ticks?.upper ?? null,
  ])
  return withDigest(JSON.stringify(rows))
}

/** Returns whether two lists of positions have the same layout. */
export function hasSameLayout(one: readonly StayingPart[], other: readonly StayingPart[]): boolean {
  return one.length === other.length && one.every((position, index) => isSame(position, other[index] as StayingPart))
}

function isSame(one: StayingPart, other: StayingPart): boolean {
  return (
    one.id === other.id &&
    one.pool.a === other.pool.a &&
    one.pool.b === other.pool.b &&
    one.pool.venue === other.pool.venue &&
    one.pool.feeTier === other.pool.feeTier &&
    one.range.lower.equals(other.range.lower) &&
    one.range.upper.equals(other.range.upper) &&
    one.ticks?.lower === other.ticks?.lower &&
    one.ticks?.upper === other.ticks?.upper
  )
}

/** Cached layouts by text: many marks of a vault have the same one. */
const layouts = new Map<string, Layout>()
const maxLayouts = 4_096
/** Maximum length of a cached text. */
const maxCharacters = 1_000

function withDigest(positions: string): Layout {
  const known = layouts.get(positions)
  if (known !== undefined) return known
  const layout = { positions, digest: hash('sha256', positions, 'hex').slice(0, 16) }
  if (positions.length > maxCharacters) return layout
  if (layouts.size === maxLayouts) layouts.clear()
  layouts.set(positions, layout)
  return layout
}

/** Reads the rows of a layout's text. */
export function layoutRows(text: string): LayoutRow[] {
  return JSON.parse(text) as LayoutRow[]
}
