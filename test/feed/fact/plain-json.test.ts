import fc from 'fast-check'
import { parse as parseJson } from 'lossless-json'
import { describe, expect, test } from 'vitest'
import { readNumber } from '../../../src/feed/fact/number-text.ts'
import { parsePlainJson } from '../../../src/feed/fact/plain-json.ts'

/** JSON texts and nearly valid ones: with repeated keys, numbers in all forms, white space anywhere. */
const text = fc.letrec<{ value: string; object: string; array: string; leaf: string }>((tie) => {
  const key = fc.constantFrom('"a"', '"b"', '"a:"', '"\\u0061"', '"é"', '"{"', '"__proto__"')
  const space = fc.constantFrom('', '', '', '', ' ', '\t', '\r\n')
  const entry = fc.tuple(space, key, space, space, tie('value')).map(([s, k, t, u, v]) => `${s}${k}${t}:${u}${v}`)
  return {
    leaf: fc.constantFrom(
      ...[
        '1',
        '-1',
        '0',
        '-0',
        '01',
        '1.5',
        '1e2',
        '1E-2',
        '-1e',
        '123456789012345',
        '1234567890123456',
        'true',
        'nul',
      ],
      ...['null', '"x"', '"1.5"', '"a\\"b"', '"\\n"', '":"', '"é😀"', '"a\nb"', '"1e5,2.5"', '"unclosed', ''],
    ),
    object: fc.array(entry, { maxLength: 4 }).map((entries) => `{${entries.join(',')}}`),
    array: fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    value: fc.oneof({ maxDepth: 3 }, tie('leaf'), tie('object'), tie('array')),
  }
}).value

describe('plain JSON', () => {
  test('is parsed like by the parser that keeps numbers as text and rejects duplicate keys, or is left to that one', () => {
    let parsed = 0
    fc.assert(
      fc.property(text, (line) => {
        const value = parsePlainJson(line)
        if (value === undefined) return
        parsed++
        expect(value).toEqual(parseJson(line, undefined, { parseNumber: readNumber }))
      }),
      { numRuns: 5_000 },
    )
    expect(parsed).toBeGreaterThan(500)
  })

  test.each([
    ['{"kind":"mark","ts":1700006400,"prices":{"USDC":"1.25"},"positions":[{"id":"one","ticks":{"lower":-10}}]}'],
    ['{"kind": "owner", "ts": 123456789012345, "is": [true, false, null]}'],
    ['{"name":"Schäfer: 1.5e3 {\'a\':1}","of":"😀"}'],
  ])('is parsed: %s', (line) => {
    expect(parsePlainJson(line)).toEqual(JSON.parse(line))
  })

  test.each([
    ['two equal keys', '{"a":1,"a":2}'],
    ['two equal keys far within', '{"a":[{"b":{"c":1,"c":1}}]}'],
    ['a fraction', '{"a":1.5}'],
    ['an exponent', '{"a":1E5}'],
    ['an integer of 16 digits', '{"a":[1234567890123456]}'],
    ['an escape', '{"a":"\\u0061"}'],
    ['an inherited key', '{"a":{"__proto__":{"b":1}}}'],
    ['white space before a colon', '{"a" :1}'],
    ['no JSON', '{"a":1'],
  ])('is not %s', (_, line) => {
    expect(parsePlainJson(line)).toBeUndefined()
  })
})
