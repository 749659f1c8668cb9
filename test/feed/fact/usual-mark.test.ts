import fc from 'fast-check'
import { expect, test } from 'vitest'
import { digestOf } from '../../../src/feed/fact/digest.ts'
import { factSchema } from '../../../src/feed/fact/fact.ts'
import { NumberText } from '../../../src/feed/fact/number-text.ts'
import { readUsualMark } from '../../../src/feed/fact/usual-mark.ts'
import { mark, midnight, position, vaultA } from '../../support/world.ts'

const usual = mark(vaultA, midnight, '1234.567891', {
  prices: { USDC: '1', WETH: '2000.5' },
  positions: [position('one'), { ...position('two', '95.25'), ticks: { lower: -10, upper: 20, current: 3 } }],
})

/** Values at a position of a mark, valid and invalid. */
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
    ...[
      0,
      -1,
      1.5,
      2 ** 31,
      1_000_001,
      NaN,
      null,
      undefined,
      true,
      [],
      {},
      new NumberText('1.5'),
      vaultA.toUpperCase(),
    ],
    ...['é', `0x${'Ab'.repeat(20)}`, [position('same'), position('same')], { lower: '2', upper: '1', current: '1' }],
    ...[{ lower: 2, upper: 1, current: 1 }, { lower: 1, upper: 1, current: 5 }, JSON.parse('{"__proto__":"1"}')],
  ),
  fc.string({ maxLength: 4 }),
  fc.nat(),
)

interface Change {
  /** Index among all positions of the mark. */
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

/** Returns all objects within a value. */
function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return []
  return [value as Record<string, unknown>, ...Object.values(value).flatMap(objectsIn)]
}

/** Returns a deep copy, so that no object is shared. */
function copyOf(value: unknown): unknown {
  return value instanceof NumberText ? new NumberText(value.text) : structuredClone(value)
}

function changed({ place, way, value: strangeValue, key }: Change, fact: unknown): void {
  const value = copyOf(strangeValue)
  const objects = objectsIn(fact)
  const places = objects.flatMap((object) => Object.keys(object).map((name) => ({ object, name })))
  const found = places[place % places.length]
  if (way === 'add') Object.assign(objects[place % objects.length] ?? {}, { [key]: value })
  else if (found !== undefined && way === 'replace') found.object[found.name] = value
  else if (found !== undefined) Reflect.deleteProperty(found.object, found.name)
}

const fees = { contributedUsd: '9000', withdrawnUsd: '0', taxedUsd: '1.25', highWaterUsd: '203.241937' }
const forms = [usual, { ...usual, fees }, { ...usual, highWaterValueUsd: '1300.5' }]

test.each(forms)('a mark in its usual form is read as by the schema', (form) => {
  const read = readUsualMark(form)
  expect(read).not.toBeNull()
  expect(read).toEqual(factSchema.parse(form))
  expect(Object.keys(read ?? {})).toEqual(Object.keys(factSchema.parse(form)))
})

test('a mark with both fees and a high-water mark is left to the schema', () => {
  expect(readUsualMark({ ...usual, fees, highWaterValueUsd: '1300.5' })).toBeNull()
})

test('a mark that is read without the schema equals the result of the schema', () => {
  let taken = 0
  fc.assert(
    fc.property(fc.constantFrom(...forms), fc.array(change, { maxLength: 2 }), (form, changes) => {
      const fact: unknown = structuredClone(form)
      for (const each of changes) changed(each, fact)
      const read = readUsualMark(fact)
      if (read === null) return
      taken++
      const bySchema = factSchema.parse(fact)
      expect(read).toEqual(bySchema)
      expect(digestOf(read)).toBe(digestOf(bySchema))
    }),
    { numRuns: 2_000 },
  )
  expect(taken).toBeGreaterThan(300)
})
