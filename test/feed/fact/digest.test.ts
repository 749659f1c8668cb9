import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Decimal } from '../../../src/domain/decimal.ts'
import { digestOf, lineDigest } from '../../../src/feed/fact/digest.ts'
import { parseFact } from '../../../src/feed/fact/parse.ts'
import { decimals } from '../../support/arbitraries.ts'

/** Hex digits, whose case is irrelevant. */
class Hex {
  constructor(readonly digits: string) {}
}

/** The contents of a fact, independent of its formatting. */
type Contents = string | number | boolean | Decimal | Hex | readonly Contents[] | ContentsObject
interface ContentsObject {
  readonly [key: string]: Contents
}

/** Chooses one of several spellings of a value. */
type Choose = <Spelling>(spellings: readonly Spelling[]) => Spelling

const hex = (digits: number) =>
  fc
    .string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: digits, maxLength: digits })
    .map((text) => new Hex(text))

const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 6 })
  .filter((text) => !text.includes('\0') && text !== '__proto__')
const venues = fc.array(name, { maxLength: 3 })
const amount = decimals(6, 4)
const seconds = fc.nat(2_000_000_000)

const named = <Value extends Contents>(value: fc.Arbitrary<Value>): fc.Arbitrary<ContentsObject> =>
  fc
    .uniqueArray(fc.tuple(name, value), { selector: ([key]) => key, maxLength: 3 })
    .map((entries) => Object.fromEntries(entries))

const prices = named(amount)

const position = fc.record({
  pool: fc.record({ a: name, b: name, venue: name, feeTier: fc.nat(10_000) }),
  range: fc.record({ lower: decimals(1, 4), upper: decimals(2, 4).map((over) => over.plus(20)), current: amount }),
  pendingRewardsUsd: amount,
})
const ticks = fc.record({ lower: fc.nat(50), upper: fc.integer({ min: 100, max: 200 }), current: fc.nat(200) })

const event = {
  kind: fc.constant('event'),
  ts: seconds,
  vault: hex(40),
  block: seconds,
  txHash: hex(64),
  logIndex: fc.nat(500),
}
const onPosition = (type: string) => fc.record({ ...event, type: fc.constant(type), positionId: name })
const worth = { valueBeforeUsd: amount, prices }

const fees = {
  contributedUsd: new Decimal('9000'),
  withdrawnUsd: new Decimal('0'),
  taxedUsd: new Decimal('1.25'),
  highWaterUsd: new Decimal('203.2419'),
}

const fact: fc.Arbitrary<ContentsObject> = fc.oneof(
  fc.record({ kind: fc.constant('strategy'), ts: seconds, id: name, name, tagline: name, description: name }),
  fc.record({ kind: fc.constant('vault'), ts: seconds, vault: hex(40), owner: hex(40), strategy: name }),
  fc.record({
    kind: fc.constant('screen'),
    ts: seconds,
    assets: fc.uniqueArray(
      fc.record({
        symbol: name,
        name,
        category: fc.constantFrom('major', 'stable', 'stock token', 'meme'),
        venues,
        liquidityUsd: amount,
      }),
      { selector: ({ symbol }) => symbol, maxLength: 2 },
    ),
    pairs: fc.array(fc.record({ a: name, b: name, venues, tvlUsd: amount, emissions: fc.boolean() }), { maxLength: 2 }),
    strategies: named(fc.array(fc.record({ a: name, b: name, venues }), { maxLength: 2 })),
  }),
  fc
    .record({
      kind: fc.constant('mark'),
      ts: seconds,
      vault: hex(40),
      valueUsd: amount,
      prices,
      positions: fc
        .array(fc.tuple(position, fc.option(ticks)), { maxLength: 2 })
        .map((list) =>
          list.map(([rest, known], index) => ({ id: `${index}`, ...rest, ...(known && { ticks: known }) })),
        ),
    })
    .chain((required) =>
      fc
        .constantFrom<ContentsObject>({}, { fees }, { highWaterValueUsd: fees.taxedUsd })
        .map((more) => ({ ...required, ...more })),
    ),
  fc.record({
    ...event,
    ...worth,
    type: fc.constant('deposit'),
    amountUsd: amount,
    assets: fc.array(fc.record({ symbol: name, amount }), { maxLength: 2 }),
  }),
  fc.record({ ...event, ...worth, type: fc.constant('withdraw'), amountUsd: amount }),
  onPosition('plant'),
  onPosition('exit'),
  fc.record({ ...event, type: fc.constant('harvest'), positionId: name, amountUsd: amount }),
  fc.record({ ...event, type: fc.constant('suspend'), reason: name }),
  fc.record({ ...event, type: fc.constant('resume') }),
)

/** Writes the contents as JSON, with one of the possible spellings of each value. */
function write(contents: Contents, choose: Choose): string {
  if (contents instanceof Decimal) return choose(spellingsOf(contents))
  if (contents instanceof Hex) return JSON.stringify(`0x${choose([contents.digits, contents.digits.toUpperCase()])}`)
  if (typeof contents === 'string') return choose([JSON.stringify(contents), escaped(contents)])
  if (typeof contents !== 'object') return JSON.stringify(contents)
  const space = choose(['', ' ', '\t'])
  if (isList(contents)) return `[${contents.map((item) => space + write(item, choose)).join(',')}]`
  const entries = Object.entries(contents)
  const order = choose([entries, entries.toReversed(), [...entries.slice(2), ...entries.slice(0, 2)]])
  return `{${order.map(([key, value]) => `${space}${JSON.stringify(key)}:${space}${write(value, choose)}`).join(',')}}`
}

function spellingsOf(value: Decimal): string[] {
  const text = value.toFixed()
  const units = value.times(10_000).toFixed()
  return [`"${text}"`, `"00${text}"`, `"${value.toFixed(6)}"`, text, value.toFixed(5), `${units}e-4`, `${units}E-0004`]
}

function escaped(text: string): string {
  const units = text.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return `"${units.join('')}"`
}

function isList(contents: Contents): contents is readonly Contents[] {
  return Array.isArray(contents)
}

const unchangedKeys = new Set(['kind', 'type', 'category'])

/** Yields the contents with a single value changed, for each value. */
function* changesOf(contents: Contents): Generator<Contents> {
  if (contents instanceof Decimal) yield contents.plus('0.0001')
  else if (contents instanceof Hex) yield new Hex(contents.digits.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')))
  else if (typeof contents === 'string') yield `${contents}x`
  else if (typeof contents === 'number') yield contents + 1
  else if (typeof contents === 'boolean') yield !contents
  else if (isList(contents)) yield* changesOfList(contents)
  else yield* changesOfObject(contents)
}

function* changesOfList(list: readonly Contents[]): Generator<Contents> {
  for (const [index, item] of list.entries()) for (const changed of changesOf(item)) yield list.with(index, changed)
  if (list.length > 0) yield list.slice(1)
  if (JSON.stringify(list) !== JSON.stringify(list.toReversed())) yield list.toReversed()
}

function* changesOfObject(object: ContentsObject): Generator<Contents> {
  for (const [key, value] of Object.entries(object)) {
    if (!unchangedKeys.has(key)) for (const changed of changesOf(value)) yield { ...object, [key]: changed }
  }
  for (const optional of ['ticks', 'amountUsd'] as const) {
    const { [optional]: left, ...rest } = object
    if (left !== undefined && (optional === 'ticks' || object['type'] === 'harvest')) yield rest
  }
}

function digestOfLine(line: string): string {
  const parsed = parseFact(Buffer.from(line))
  if (!parsed.ok) throw new Error(`${line}: ${parsed.issue.key ?? ''} ${parsed.issue.reason}`)
  return digestOf(parsed.fact)
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

const chooseFirst: Choose = (spellings) => spellings[0] as (typeof spellings)[number]

describe('the digest of a fact', () => {
  test('is the same for facts with equal contents, for any spelling', () => {
    fc.assert(
      fc.property(fact, fc.array(fc.nat(), { minLength: 1, maxLength: 50 }), (contents, choices) => {
        let next = 0
        const choose: Choose = (spellings) =>
          spellings[(choices[next++ % choices.length] as number) % spellings.length] as (typeof spellings)[number]
        expect(digestOfLine(write(contents, choose))).toBe(digestOfLine(write(contents, chooseFirst)))
      }),
      { numRuns: 300 },
    )
  })

  test('differs for each change of their contents', () => {
    fc.assert(
      fc.property(fact, (contents) => {
        const digests = Array.from(changesOf(contents), (changed) => digestOfLine(write(changed, chooseFirst)))
        expect(digests.length).toBeGreaterThan(0)
        expect(digests).not.toContain(digestOfLine(write(contents, chooseFirst)))
      }),
      { numRuns: 300 },
    )
  })

  test('distinguishes lists that are equal when joined, and a present key from an absent one', () => {
    const pair = (list: string[], extra = {}) =>
      JSON.stringify({
        kind: 'screen',
        ts: 1,
        assets: [],
        pairs: [{ a: 'A', b: 'B', venues: list, tvlUsd: '0', emissions: false }],
        strategies: {},
        ...extra,
      })
    const lines = [
      pair(['a', 'b']),
      pair(['b', 'a']),
      pair(['a,b']),
      pair(['a","b']),
      pair(['ab']),
      pair([]),
      pair([' ']),
    ]
    expect(new Set(lines.map(digestOfLine)).size).toBe(lines.length)
    expect(digestOfLine(pair([], { strategies: { s: [] } }))).not.toBe(digestOfLine(pair([])))
  })

  test('is the digest of canonical JSON, so that stored digests stay valid', () => {
    const numbered = JSON.stringify({
      kind: 'mark',
      ts: 1,
      vault: `0x${'1'.repeat(40)}`,
      valueUsd: '1',
      positions: [],
      prices: { b: '1', '10': '2', '9': '3', a: '4', '-1': '5', '01': '6', 'Ä"\\': '7' },
    })
    const line = fc.oneof(
      fc.constant(numbered),
      fact.map((contents) => write(contents, chooseFirst)),
    )
    fc.assert(
      fc.property(line, (text) => {
        const parsed = parseFact(Buffer.from(text))
        const json = JSON.stringify(parsed.ok && parsed.fact, sortKeys)
        const expected = createHash('sha256').update(json).digest('hex').slice(0, 16)
        expect(digestOfLine(text)).toBe(expected)
      }),
      { numRuns: 300 },
    )
  })

  test('is 64 bits in hexadecimal digits', () => {
    expect(digestOfLine('{"kind":"strategy","ts":1,"id":"a","name":"b","tagline":"","description":""}')).toMatch(
      /^[0-9a-f]{16}$/,
    )
  })
})

describe('the digest of a line', () => {
  test('depends on its bytes alone: equal for equal bytes, different for others', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 50 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (bytes, at, by) => {
          const place = at % bytes.length
          const changed = bytes.with(place, ((bytes[place] as number) + by) % 256)
          expect(lineDigest(bytes)).toMatch(/^[\w-]{22}$/)
          expect(lineDigest(Buffer.from(bytes))).toBe(lineDigest(bytes))
          expect(lineDigest(changed)).not.toBe(lineDigest(bytes))
          expect(lineDigest(bytes.subarray(1))).not.toBe(lineDigest(bytes))
        },
      ),
    )
  })
})
