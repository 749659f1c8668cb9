import type { Curve } from '../../domain/equity.ts'

/**
 * Equity points as text, one a line: time, net of flows, value, capital in and out, with spaces between. Of most of them
 * nothing is needed but the first two, so that nothing else is made of the text.
 */
export class Candidates {
  readonly #text: string
  /** By place: that of a line in the text. */
  readonly #ts: number[] = []
  readonly #netUsd: number[] = []
  readonly #begins: number[] = []

  constructor(text: string) {
    this.#text = text
    for (let at = 0; at < text.length; at = after(text, '\n', at)) {
      const netAt = after(text, ' ', at)
      this.#begins.push(at)
      this.#ts.push(numberIn(text, at, netAt - 1))
      this.#netUsd.push(numberIn(text, netAt, text.indexOf(' ', netAt)))
    }
  }

  /** The places of the lines that begin in a part of the text, in order of time, each time once. */
  placesIn(begin: number, end: number): number[] {
    const places: number[] = []
    for (let place = 0; place < this.#begins.length; place++) {
      const at = this.#begins[place] ?? 0
      if (at >= begin && at < end) places.push(place)
    }
    return this.inOrder(places)
  }

  /** These places in order of time, each time once: a point can be both ends of its bucket. */
  inOrder(places: number[]): number[] {
    const ts = this.#ts
    places.sort((one, other) => (ts[one] ?? 0) - (ts[other] ?? 0))
    return places.filter((place, index) => index === 0 || ts[place] !== ts[places[index - 1] ?? 0])
  }

  curve(places: readonly number[]): Curve {
    return {
      length: places.length,
      x: (index) => this.#ts[places[index] ?? 0] ?? 0,
      y: (index) => this.#netUsd[places[index] ?? 0] ?? 0,
    }
  }

  /** Time, net of flows, value, capital in and out, as they were read. */
  fields(place: number): string[] {
    const begin = this.#begins[place] ?? 0
    const end = this.#text.indexOf('\n', begin)
    return this.#text.slice(begin, end < 0 ? this.#text.length : end).split(' ')
  }
}

/** Where it goes on after the next of these characters; the text's end where there is none. */
function after(text: string, character: string, from: number): number {
  const at = text.indexOf(character, from)
  return at < 0 ? text.length : at + 1
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
