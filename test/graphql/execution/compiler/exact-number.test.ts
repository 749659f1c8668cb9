import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Decimal } from '../../../../src/domain/decimal.ts'
import { exactNumber, exactText, leafText, stringify } from '../../../../src/graphql/execution/compiler/json-text.ts'

const digits = (least: number, most: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: least, maxLength: most })

/** Decimals of up to 32 digits before the point and 6 after it, as text, with or without zeros at the end. */
const decimalText = fc
  .tuple(
    fc.constantFrom('', '-'),
    digits(1, 32),
    fc.oneof(
      digits(0, 6),
      digits(0, 2).map((some) => some.padEnd(6, '0')),
    ),
  )
  .map(([sign, whole, fraction]) => `${sign}${BigInt(whole)}${fraction === '' ? '' : `.${fraction}`}`)

/** Decimals around the greatest exact integer of a float, and those that a float writes with an exponent. */
const edges = [
  '0',
  '-0.000000',
  '0.000001',
  '-0.000001',
  '999999999999999',
  '9007199254740993',
  '9999999999999999',
  '-999999999999999',
  '-9007199254740993',
  '999999999.999999',
  '-999999999.999999',
  '9999999999.999999',
  '9007199254.740993',
  '99999999999999999999999999999999.999999',
  '100000000000000000000000.000000',
  '12345678901234567890.100000',
  '12345678901234567890',
  '-10000000000000000000000',
]

function served(text: string): string {
  return stringify({ amount: exactNumber(text) })
}

describe('a decimal that is served', () => {
  test('is the same decimal, as a JSON number', () => {
    fc.assert(
      fc.property(decimalText, (text) => {
        const [, number] = /^\{"amount":(-?(?:0|[1-9]\d*)(?:\.\d+)?)\}$/.exec(served(text)) ?? []
        expect(number).toBeDefined()
        expect(new Decimal(number as string).equals(text)).toBe(true)
      }),
      { numRuns: 1_000, examples: edges.map((text): [string] => [text]) },
    )
  })

  test('has no zeros at its end', () => {
    fc.assert(
      fc.property(decimalText, (text) => {
        expect(served(text)).not.toMatch(/\.\d*0\}$/)
      }),
      { numRuns: 300, examples: edges.map((text): [string] => [text]) },
    )
  })

  test('is a float if and only if the float has the same decimal text', () => {
    fc.assert(
      fc.property(decimalText, (text) => {
        const number = exactNumber(text)
        if (typeof number === 'number') expect(new Decimal(String(number)).equals(text)).toBe(true)
        else expect(new Decimal(String(Number(text))).equals(text) && !String(Number(text)).includes('e')).toBe(false)
      }),
      { numRuns: 300, examples: edges.map((text): [string] => [text]) },
    )
  })

  test('is written as an exact number', () => {
    fc.assert(
      fc.property(decimalText, (text) => {
        expect(exactText(text)).toBe(stringify(exactNumber(text)))
        expect(leafText(exactNumber(text))).toBe(stringify(exactNumber(text)))
      }),
      { numRuns: 1_000, examples: edges.map((text): [string] => [text]) },
    )
  })

  test('may occur anywhere in a response, repeatedly', () => {
    const amounts = ['1.5', '12345678901234567890.123456', '-98765432109876543210.000001']
    expect(stringify({ a: amounts.map(exactNumber), b: { c: exactNumber(amounts[1] as string) }, d: null })).toBe(
      `{"a":[${amounts.join(',')}],"b":{"c":${amounts[1]}},"d":null}`,
    )
  })
})

describe('a leaf that is written', () => {
  test('has the same text as by JSON.stringify', () => {
    const leaf = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'grapheme-ascii' }),
      fc.double(),
      fc.integer(),
      fc.boolean(),
      fc.jsonValue(),
    )
    fc.assert(
      fc.property(leaf, (value) => {
        expect(leafText(value)).toBe(JSON.stringify(value))
      }),
      {
        numRuns: 1_000,
        examples: ['"', '\\', '\u007f', '\u2028', '\ud800', -0, 1e21, NaN].map((value): [string | number] => [value]),
      },
    )
  })
})

describe('a string that is served', () => {
  /** JSON escapes that resemble the marker of a number, and quotes around them. */
  const lookalike = decimalText.chain((text) =>
    fc.constantFrom(
      text,
      `"${text}"`,
      `\\u0000${text}`,
      `"\\u0000${text}"`,
      `\\"\\u0000${text}\\"`,
      `\\\\u0000${text}`,
      `"\\`,
      `\u0001${text}`,
    ),
  )
  const text = fc.oneof(lookalike, fc.string({ unit: 'binary' })).filter((value) => !value.includes('\0'))

  test('is unchanged, beside a number or as a key', () => {
    fc.assert(
      fc.property(fc.array(text), text, text, (list, key, value) => {
        const exact = exactNumber('12345678901234567890.123456')
        const json = stringify([{ list, nested: Object.fromEntries([[key, value]]) }, exact])
        const [answer, number] = JSON.parse(json) as [unknown, unknown]
        expect(answer).toEqual({ list, nested: Object.fromEntries([[key, value]]) })
        expect(number).toBeTypeOf('number')
      }),
      { numRuns: 500 },
    )
  })
})

test('a text that ends with a quotation mark, NUL and digits remains a text', () => {
  const result = { message: 'a"\u0000123', name: '\\"\u00001.5', amount: exactNumber('12345678901234567890') }
  expect(JSON.parse(stringify(result))).toEqual({ ...result, amount: 12345678901234567890 })
  expect(stringify(result)).toContain('"amount":12345678901234567890}')
})
