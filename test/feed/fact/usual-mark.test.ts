import fc from 'fast-check'
import { parse as parseJson } from 'lossless-json'
import { expect, test } from 'vitest'
import { digestOf } from '../../../src/feed/fact/digest.ts'
import { factSchema } from '../../../src/feed/fact/fact.ts'
import { readUsualMark } from '../../../src/feed/fact/usual-mark.ts'
import { mark, midnight, position, vaultA } from '../../support/world.ts'

const usual = mark(vaultA, midnight, '1234.567891', {
  prices: { USDC: '1', WETH: '2000.5' },
  positions: [position('one'), { ...position('two', '95.25'), ticks: { lower: -10, upper: 20, current: 3 } }],
})

/** Values that a place of a mark may have, good and bad. */
const strange = fc.oneof(
  fc.constantFrom<unknown>(
    ...[
      '0',
      '1',
      '1.5',
      '01',
      '-1',
      '1.1234567',
      '1e3',
      '',
      ' 1',
      '1.',
      'x'.repeat(200),
      'x'.repeat(201),
      '\0',
      '\ud800',
    ],
    ...[0, -1, 1.5, 2 ** 31, 1_000_001, null, true, [], {}, vaultA.toUpperCase()],
    ...['é', `0x${'Ab'.repeat(20)}`, [position('same'), position('same')], { lower: '2', upper: '1', current: '1' }],
    ...[{ lower: 2, upper: 1, current: 1 }, { lower: 1, upper: 1, current: 5 }, JSON.parse('{"__proto__":"1"}')],
  ),
  fc.string({ maxLength: 4 }),
  fc.nat(),
)

interface Change {
  /** Which of all places of the mark. */
  readonly place: number
  readonly way: 'replace' | 'remove' | 'add'
  readonly value: unknown
  readonly key: string
}

const change: fc.Arbitrary<Change> = fc.record({
  place: fc.nat(),
  way: fc.constantFrom('replace', 'remove', 'add'),
  value: strange,
  key: fc.constantFrom('fees', 'highWaterValueUsd', 'ticks', 'kind', 'x'),
})

/** All objects within a value. */
function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return []
  return [value as Record<string, unknown>, ...Object.values(value).flatMap(objectsIn)]
}

function changed({ place, way, value: strangeValue, key }: Change, fact: unknown): void {
  // A copy: one object in two places would be changed in both, also within itself.
  const value = structuredClone(strangeValue)
  const objects = objectsIn(fact)
  const places = objects.flatMap((object) => Object.keys(object).map((name) => ({ object, name })))
  const found = places[place % places.length]
  if (way === 'add') Object.assign(objects[place % objects.length] ?? {}, { [key]: value })
  else if (found !== undefined && way === 'replace') found.object[found.name] = value
  else if (found !== undefined) Reflect.deleteProperty(found.object, found.name)
}

const fees = { contributedUsd: '9000', withdrawnUsd: '0', taxedUsd: '1.25', highWaterUsd: '203.241937' }
const forms = [usual, { ...usual, fees }, { ...usual, highWaterValueUsd: '1300.5' }]

/** Reads a line by JSON and schema. */
function bySchema(line: string): unknown {
  return factSchema.parse(parseJson(line, undefined, { parseNumber: Number }))
}

const read = (line: string) => readUsualMark(Buffer.from(line))

/** Writes an object with its keys, and those of all objects in it, in another order, and spaces between. */
function reordered(value: unknown): string {
  if (Array.isArray(value)) return `[ ${value.map(reordered).join(' , ')} ]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).map(([key, inner]) => `"${key}": ${reordered(inner)}`)
  return `{ ${fields.reverse().join(', ')} }`
}

test.each(forms)('a mark in its usual form is read as by the schema, in any order of its keys', (form) => {
  for (const line of [JSON.stringify(form), `${reordered(form)} \r`]) {
    const found = read(line)
    expect(found).not.toBeNull()
    expect(found).toEqual(bySchema(line))
    expect(Object.keys(found ?? {})).toEqual(Object.keys(factSchema.parse(form)))
  }
})

test.each([
  ['both fees and a high-water mark', JSON.stringify({ ...usual, fees, highWaterValueUsd: '1300.5' })],
  ['a key twice', JSON.stringify(usual).replace('"ts"', '"ts":1,"ts"')],
  ['a price twice', JSON.stringify(usual).replace('"USDC":"1"', '"USDC":"1","USDC":"1"')],
  ['a price of __proto__', JSON.stringify(usual).replace('"USDC":"1"', '"USDC":"1","__proto__":"1"')],
  ['an escape', JSON.stringify(usual).replace('WETH', '\\u0057ETH')],
  ['letters beyond ASCII', JSON.stringify(usual).replaceAll('WETH', 'WÉTH')],
  ['text behind it', `${JSON.stringify(usual)} {}`],
  ['no end', JSON.stringify(usual).slice(0, -1)],
  ['a number with zeros in front', JSON.stringify(usual).replace('"feeTier":500', '"feeTier":0500')],
  ['minus zero', JSON.stringify(usual).replace('"current":3', '"current":-0')],
])('a line with %s is left to the schema', (_, line) => {
  expect(read(line)).toBeNull()
})

/** Requires that a line which is read without the schema is read by it alike. */
function requireAlike(line: string): boolean {
  const found = read(line)
  if (found === null) return false
  const expected = bySchema(line)
  expect(found).toEqual(expected)
  expect(digestOf(found)).toBe(digestOf(expected as typeof found))
  return true
}

test('whatever is read without the schema is read by it alike', () => {
  let taken = 0
  fc.assert(
    fc.property(fc.constantFrom(...forms), fc.array(change, { maxLength: 2 }), (form, changes) => {
      const fact: unknown = structuredClone(form)
      for (const each of changes) changed(each, fact)
      if (requireAlike(JSON.stringify(fact)) && requireAlike(reordered(fact))) taken++
    }),
    { numRuns: 2_000 },
  )
  expect(taken).toBeGreaterThan(300)
})

test('a line of which a part is replaced is read alike, or left to the schema', () => {
  let taken = 0
  const part = fc.oneof(
    fc.constantFrom('', '"', ',', ':', '{', '}', '[]', '0', '-', '.', ' ', '\t', '\\', 'e1', '"a":1,'),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.constantFrom(...forms), fc.nat(), fc.nat(2), part, (form, at, length, text) => {
      const line = JSON.stringify(form)
      const from = at % line.length
      if (requireAlike(line.slice(0, from) + text + line.slice(from + length))) taken++
    }),
    { numRuns: 3_000 },
  )
  expect(taken).toBeGreaterThan(300)
})
