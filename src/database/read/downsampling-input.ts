import { type Curve, type CurveName, extremePoints, type KeptEnds } from '../../domain/equity.ts'
import type { EquityRow } from './rows.ts'
import { valueUsdOf } from './series/usd-sum.ts'

/** Usual minimum length of a line in characters, for the initial capacity; the arrays grow where lines are shorter. */
const minLineLength = 32

/**
 * The equity curve of a vault as input of `downsample`, parsed from text with one point a line, ascending by time:
 * time, net of flows, capital in and out, and the market's part or nothing, separated by spaces. Only time and height of the
 * curve are parsed for every point; the amounts are parsed for the points that are selected.
 */
export class DownsamplingInput implements Curve {
  readonly #texts: { readonly text: string; readonly first: number }[] = []
  length = 0
  x: Float64Array
  y: Float64Array
  /** Offset of each point's line in its text. */
  #begins: Float64Array

  /**
   * @param characters total length of the texts that will be added
   * @param by the curve that is drawn
   */
  constructor(
    characters: number,
    readonly by: CurveName = 'net',
  ) {
    const capacity = Math.ceil(characters / minLineLength)
    this.x = new Float64Array(capacity)
    this.y = new Float64Array(capacity)
    this.#begins = new Float64Array(capacity)
  }

  /**
   * Adds the points of a text that are later than the newest one: a point may be both the smallest and the largest of
   * its bucket, and appears twice.
   */
  add(text: string): void {
    this.#texts.push({ text, first: this.length })
    this.#addLines(text, 0, text.length)
  }

  /**
   * Adds the extremes of each bucket of a text's points.
   * @param linesOf returns the number of lines of a bucket by its index
   * @param end the end of the text's points that is added too
   */
  addBuckets(text: string, linesOf: (bucket: number) => number, end: KeptEnds): void {
    this.#texts.push({ text, first: this.length })
    for (let at = 0, bucket = 0; at < text.length; bucket++) {
      const next = afterLines(text, at, linesOf(bucket))
      const first = this.length
      this.#addLines(text, at, next)
      const isAtEnd = end === 'first' ? at === 0 : next === text.length
      this.#keepExtremes(first, isAtEnd ? end : 'none')
      at = next
    }
  }

  #addLines(text: string, begin: number, end: number): void {
    let newest = this.length === 0 ? -1 : (this.x[this.length - 1] ?? -1)
    for (let at = begin; at < end;) {
      let netAt = at
      let ts = 0
      for (let code; (code = text.charCodeAt(netAt++)) >= zero;) ts = ts * 10 + code - zero
      const netEnd = text.indexOf(' ', netAt)
      if (ts > newest) {
        const netUsd = numberIn(text, netAt, netEnd)
        this.#push((newest = ts), this.by === 'net' ? netUsd : heightIn(text, netEnd, netUsd, this.by), at)
      }
      const lineEnd = text.indexOf('\n', netEnd)
      at = lineEnd < 0 ? text.length : lineEnd + 1
    }
  }

  /** Removes the points from an index on, except their extremes and one of their ends. */
  #keepExtremes(first: number, end: KeptEnds): void {
    const added = { length: this.length - first, x: this.x.subarray(first), y: this.y.subarray(first) }
    const kept = extremePoints(added, end)
    this.length = first
    // Compacts in place: each point moves towards the start or stays.
    for (const index of kept) {
      const from = first + index
      this.#push(this.x[from] ?? NaN, this.y[from] ?? NaN, this.#begins[from] ?? NaN)
    }
  }

  /**
   * Returns a point as a row, with its amounts as exact text.
   * @param index index of the point on the curve
   * @param previousNetUsd net of flows of the row before; null for the first
   */
  row(vaultAddress: string, index: number, previousNetUsd: string | null): EquityRow {
    const text = this.#textOf(index)
    const netAt = text.indexOf(' ', this.#begins[index]) + 1
    const inAt = text.indexOf(' ', netAt) + 1
    const outAt = text.indexOf(' ', inAt) + 1
    const marketAt = text.indexOf(' ', outAt) + 1
    const end = text.indexOf('\n', marketAt)
    const netUsd = text.slice(netAt, inAt - 1)
    const capitalInUsd = text.slice(inAt, outAt - 1)
    const capitalOutUsd = text.slice(outAt, marketAt - 1)
    const marketDeltaUsd = text.slice(marketAt, end < 0 ? text.length : end)
    return {
      vaultAddress,
      ts: this.x[index] ?? NaN,
      netUsd,
      valueUsd: valueUsdOf(
        netUsd,
        this.by === 'net' ? (this.y[index] ?? NaN) : Number(netUsd),
        capitalInUsd,
        capitalOutUsd,
      ),
      capitalInUsd,
      capitalOutUsd,
      marketDeltaUsd: marketDeltaUsd === '' ? null : marketDeltaUsd,
      previousNetUsd,
    }
  }

  /** Returns the text that contains a point's line. */
  #textOf(index: number): string {
    let at = this.#texts.length - 1
    while (at > 0 && (this.#texts[at]?.first ?? 0) > index) at--
    return this.#texts[at]?.text ?? ''
  }

  #push(ts: number, netUsd: number, begin: number): void {
    if (this.length === this.x.length) {
      this.x = grown(this.x)
      this.y = grown(this.y)
      this.#begins = grown(this.#begins)
    }
    this.x[this.length] = ts
    this.y[this.length] = netUsd
    this.#begins[this.length++] = begin
  }
}

/**
 * Returns the height of a curve at a point; net of flows where the market's part is not known.
 * @param netEnd offset of the end of net of flows
 */
function heightIn(text: string, netEnd: number, netUsd: number, by: Exclude<CurveName, 'net'>): number {
  const inEnd = text.indexOf(' ', netEnd + 1)
  const outEnd = text.indexOf(' ', inEnd + 1)
  if (by === 'value') return netUsd + numberIn(text, netEnd + 1, inEnd) - numberIn(text, inEnd + 1, outEnd)
  const end = afterLines(text, outEnd, 1)
  const marketEnd = text.charCodeAt(end - 1) === newline ? end - 1 : end
  if (marketEnd === outEnd + 1) return netUsd
  const marketUsd = numberIn(text, outEnd + 1, marketEnd)
  return by === 'market' ? marketUsd : netUsd - marketUsd
}

/** Returns the offset after a number of lines. */
function afterLines(text: string, from: number, lines: number): number {
  let at = from
  for (let line = 0; line < lines && at < text.length; line++) {
    const end = text.indexOf('\n', at)
    at = end < 0 ? text.length : end + 1
  }
  return at
}

function grown(array: Float64Array): Float64Array {
  const larger = new Float64Array(2 * array.length + 1)
  larger.set(array)
  return larger
}

/**
 * Maximum number of digits of an exact result: both the digits as an integer and the power of ten are exact floats, and
 * their division rounds once, as `Number` does.
 * @see Clinger, "How to Read Floating Point Numbers Accurately", PLDI 1990 (the fast path)
 */
const exactDigits = 15
const [zero, minus, point, newline] = [48, 45, 46, 10]

/** Parses a decimal in a text, as `Number(text.slice(begin, end))` would, without allocating a string. */
function numberIn(text: string, begin: number, end: number): number {
  if (end - begin > exactDigits) return Number(text.slice(begin, end))
  let digits = 0
  let scale = 0
  for (let at = begin; at < end; at++) {
    const code = text.charCodeAt(at)
    if (code === point) scale = 1
    else if (code !== minus) {
      digits = digits * 10 + code - zero
      scale *= 10
    }
  }
  const size = scale === 0 ? digits : digits / scale
  return text.charCodeAt(begin) === minus ? -size : size
}
