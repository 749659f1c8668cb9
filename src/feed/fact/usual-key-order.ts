/**
 * Parses the JSON of a mark in its usual layout: keys in the order of the documentation, fees before or after the positions, at
 * most one space after colons and commas. A text in this layout cannot have duplicate keys, escapes or numbers that a float
 * rounds, so no pass looks for them: this takes a third of the time of `parsePlainJson`.
 * @param line a line
 * @returns what JSON.parse returns; undefined for any other text, valid or not
 */
export function parseUsualKeyOrder(line: string): unknown {
  if (line.length > maxCharacters) return undefined
  const layout = new LayoutReader(line)
  const start = layout.read(head)
  if (start === null) return undefined
  const [, ts, vault, valueUsd, end] = start
  const prices = end === '}' ? {} : pricesIn(layout)
  const feesBefore = layout.read(fees)
  const positions = positionsIn(layout)
  const statedFees = feesBefore ?? layout.read(fees)
  if (prices === null || positions === null || !layout.isAtEnd(layout.read(close))) return undefined
  const mark = { kind: 'mark', ts: Number(ts), vault, valueUsd, prices, positions }
  return statedFees === null ? mark : { ...mark, fees: feesOf(statedFees) }
}

/** Maximum length of a line: strings of the fact are slices of the line, and retain all of it in memory. */
const maxCharacters = 4_000

const characters = '([^"\\\\\\x00-\\x1f]*)'
const text = `"${characters}"`
/** An integer that a float represents exactly, without a negative zero. */
const integer = '(0|-?[1-9]\\d{0,14})'
const entry = (key: string, value: string): string => `"${key}": ?${value}`
const object = (...entries: readonly string[]): string => `\\{${entries.join(', ?')}\\}`
const range = (value: string): string => object(entry('lower', value), entry('upper', value), entry('current', value))
const pool = object(entry('a', text), entry('b', text), entry('venue', text), entry('feeTier', integer))
const ticks = `(?:, ?${entry('ticks', range(integer))})?`
const summary = ['contributedUsd', 'withdrawnUsd', 'taxedUsd', 'highWaterUsd'].map((key) => entry(key, text))

const start = [
  '"kind": ?"mark"',
  entry('ts', integer),
  entry('vault', text),
  entry('valueUsd', text),
  '"prices": ?\\{(\\}?)',
]
const head = new RegExp(`\\{${start.join(', ?')}`, 'y')
const price = new RegExp(`${entry(characters, text)}(, ?|\\})`, 'y')
const fees = new RegExp(`, ?${entry('fees', object(...summary))}`, 'y')
const positionList = /, ?"positions": ?\[(\]?)/y
const position = new RegExp(
  `\\{${entry('id', text)}, ?${entry('pool', pool)}, ?${entry('range', range(text))}${ticks}, ?${entry('pendingRewardsUsd', text)}\\}(, ?|\\])`,
  'y',
)
const close = /\}/y

/** Matches patterns in sequence. */
class LayoutReader {
  #at = 0

  constructor(readonly line: string) {}

  /** Returns the match of a pattern at the current offset, and moves past it; null where the pattern does not match. */
  read(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.line)
    if (found !== null) this.#at = pattern.lastIndex
    return found
  }

  isAtEnd(last: RegExpExecArray | null): boolean {
    return last !== null && this.#at === this.line.length
  }
}

function pricesIn(layout: LayoutReader): Record<string, unknown> | null {
  const prices: Record<string, unknown> = {}
  for (;;) {
    const [, symbol, usd, end] = layout.read(price) ?? []
    if (symbol === undefined || symbol === '__proto__' || Object.hasOwn(prices, symbol)) return null
    prices[symbol] = usd
    if (end === '}') return prices
  }
}

function positionsIn(layout: LayoutReader): object[] | null {
  const list = layout.read(positionList)
  if (list === null) return null
  const positions: object[] = []
  for (let end = list[1]; end !== ']';) {
    const found = layout.read(position)
    if (found === null) return null
    positions.push(positionOf(found))
    end = found[13]
  }
  return positions
}

function positionOf([, id, a, b, venue, feeTier, lower, upper, current, ...rest]: RegExpExecArray): object {
  const [tickLower, tickUpper, tickCurrent, pendingRewardsUsd] = rest
  const pool = { a, b, venue, feeTier: Number(feeTier) }
  const range = { lower, upper, current }
  if (tickLower === undefined) return { id, pool, range, pendingRewardsUsd }
  const ticks = { lower: Number(tickLower), upper: Number(tickUpper), current: Number(tickCurrent) }
  return { id, pool, range, ticks, pendingRewardsUsd }
}

function feesOf([, contributedUsd, withdrawnUsd, taxedUsd, highWaterUsd]: RegExpExecArray): object {
  return { contributedUsd, withdrawnUsd, taxedUsd, highWaterUsd }
}
