import { type Curve, outline } from '../../domain/equity.ts'
import type { EquityRow } from './rows.ts'

/** How many characters a line has at least as a rule; where more of them are in a text, the arrays grow. */
const usualLine = 32

/**
 * The curve of equity points that are read as text, one a line, in order of time: time, net of flows, value, capital in
 * and out, with spaces between. Of most of them nothing is needed but the first two, so that nothing else is made of the
 * text.
 */
export class DownsamplingInput implements Curve {
  readonly #texts: { readonly text: string; readonly first: number }[] = []
  length = 0
  x: Float64Array
  y: Float64Array
  /** Where the line of each begins in its text. */
  #begins: Float64Array

  constructor(characters: number) {
    const capacity = Math.ceil(characters / usualLine)
    this.x = new Float64Array(capacity)
    this.y = new Float64Array(capacity)
    this.#begins = new Float64Array(capacity)
  }

  /** Adds the points of a text that are later than those there are: a point can be both ends of its bucket. */
  add(text: string): void {
    this.#texts.push({ text, first: this.length })
    let newest = this.length === 0 ? -1 : (this.x[this.length - 1] ?? -1)
    for (let at = 0; at < text.length;) {
      const netAt = text.indexOf(' ', at) + 1
      const netEnd = text.indexOf(' ', netAt)
      const ts = numberIn(text, at, netAt - 1)
      if (ts > newest) this.#push((newest = ts), numberIn(text, netAt, netEnd), at)
      const end = text.indexOf('\n', netEnd)
      at = end < 0 ? text.length : end + 1
    }
  }

  /** Adds those of a text's points that tell its outline. */
  addOutline(text: string): void {
    const first = this.length
    this.add(text)
    const kept = outline({
      length: this.length - first,
      x: this.x.subarray(first, this.length),
      y: this.y.subarray(first, this.length),
    })
    this.length = first
    // Each is moved to where it is or nearer to the first.
    for (const index of kept) {
      const from = first + index
      this.#push(this.x[from] ?? NaN, this.y[from] ?? NaN, this.#begins[from] ?? NaN)
    }
  }

  /** The point itself, as it was read. */
  row(vaultAddress: string, index: number): EquityRow {
    const text = this.#texts.findLast(({ first }) => first <= index)?.text ?? ''
    const netAt = text.indexOf(' ', this.#begins[index]) + 1
    const valueAt = text.indexOf(' ', netAt) + 1
    const inAt = text.indexOf(' ', valueAt) + 1
    const outAt = text.indexOf(' ', inAt) + 1
    const end = text.indexOf('\n', outAt)
    return {
      vaultAddress,
      ts: this.x[index] ?? NaN,
      netUsd: text.slice(netAt, valueAt - 1),
      valueUsd: text.slice(valueAt, inAt - 1),
      capitalInUsd: text.slice(inAt, outAt - 1),
      capitalOutUsd: text.slice(outAt, end < 0 ? text.length : end),
    }
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

function grown(array: Float64Array): Float64Array {
  const larger = new Float64Array(2 * array.length + 1)
  larger.set(array)
  return larger
}

/** So many digits are a whole number that floats hold, as the power of ten is that they are divided by. */
const exactDigits = 15
const [zero, minus, point] = [48, 45, 46]

/** What `Number` makes of a decimal in a text, without a string of its own. */
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
