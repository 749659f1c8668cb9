import fc from 'fast-check'
import { parse as parseJson } from 'lossless-json'
import { expect, test } from 'vitest'
import { readNumber } from '../../../src/feed/fact/number-text.ts'
import { parseUsualKeyOrder } from '../../../src/feed/fact/usual-key-order.ts'
import { mark, midnight, position, vaultA } from '../../support/world.ts'

const fees = { contributedUsd: '9000', withdrawnUsd: '0', taxedUsd: '1.25', highWaterUsd: '203.241937' }
const ticks = { lower: -10, upper: 20, current: 0 }
const { id, pool, range, pendingRewardsUsd } = position('two', '95.25')
const { kind, ts, vault, valueUsd, prices } = mark(vaultA, midnight, '1234.567891', {
  prices: { USDC: '1', WETH: '2000.5' },
}) as Extract<ReturnType<typeof mark>, { kind: 'mark' }>
const positions = [position('one'), { id, pool, range, ticks, pendingRewardsUsd }]
const start = { kind, ts, vault, valueUsd }
const forms: readonly object[] = [
  { ...start, prices, positions },
  { ...start, prices, positions, fees },
  { ...start, prices, fees, positions },
  { ...start, prices: {}, positions: [] },
]

/** Writes JSON like Python's json.dumps: with a space after each colon and comma. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${spaced(each)}`)
  return `{${entries.join(', ')}}`
}

test.each(forms)('a mark in its usual layout is read: %j', (form) => {
  expect(parseUsualKeyOrder(JSON.stringify(form))).toEqual(form)
  expect(parseUsualKeyOrder(spaced(form))).toEqual(form)
})

const [line = ''] = forms.map((form) => JSON.stringify(form))

test.each([
  ['another kind', line.replace('"mark"', '"event"')],
  ['a key twice', line.replace('"USDC":"1"', '"USDC":"1","USDC":"1"')],
  ['a key of prototypes', line.replace('"USDC":"1"', '"__proto__":"1"')],
  [
    'fees twice',
    JSON.stringify({ ...start, prices, fees, positions }).replace(/\}$/, `,"fees":${JSON.stringify(fees)}}`),
  ],
  ['a key more', line.replace(/\}$/, ',"x":1}')],
  ['an escape', line.replace('"USDC"', '"\\u0055SDC"')],
  ['a control character', line.replace('"USDC"', '"US\nDC"')],
  ['a fraction', line.replace(String(midnight), `${midnight}.5`)],
  ['an exponent', line.replace(String(midnight), '1e9')],
  ['an integer of 16 digits', line.replace(String(midnight), '1234567890123456')],
  ['a leading zero', line.replace(String(midnight), `0${midnight}`)],
  ['a negative zero', line.replace('"current":0', '"current":-0')],
  ['an empty position', line.replace(/"positions":\[/, '"positions":[,')],
  ['a comma behind the last position', line.replace(/\]\}$/, ',]}')],
  ['white space at its end', `${line} `],
  ['a beginning alone', line.slice(0, -1)],
  ['a number as an amount', line.replace('"1234.567891"', '1234.567891')],
  [
    'many positions',
    JSON.stringify({ ...start, prices, positions: Array.from({ length: 40 }, () => position('one')) }),
  ],
  ['another order of keys', JSON.stringify({ ts, kind, vault, valueUsd, prices, positions })],
])('a line with %s is left to other parsers', (_, other) => {
  expect(other).not.toBe(line)
  expect(parseUsualKeyOrder(other)).toBeUndefined()
})

test('an accepted line is valid JSON, and read like by the parser that keeps numbers as text and rejects duplicate keys', () => {
  let taken = 0
  const part = fc.constantFrom(
    '"',
    ',',
    ':',
    ' ',
    '{',
    '}',
    '[',
    ']',
    '0',
    '-',
    '.',
    'é',
    '\\',
    '\0',
    '"a":',
    ',"b"',
    '__proto__',
    '1e5',
  )
  const change = fc.record({ at: fc.nat(), removed: fc.integer({ min: 0, max: 3 }), part })
  fc.assert(
    fc.property(
      fc.constantFrom(...forms),
      fc.boolean(),
      fc.array(change, { maxLength: 2 }),
      (form, isSpaced, changes) => {
        let text = isSpaced ? spaced(form) : JSON.stringify(form)
        for (const { at, removed, part: added } of changes) {
          const place = at % text.length
          text = text.slice(0, place) + added + text.slice(place + removed)
        }
        const read = parseUsualKeyOrder(text)
        if (read === undefined) return
        taken++
        expect(read).toEqual(JSON.parse(text))
        expect(read).toEqual(parseJson(text, undefined, { parseNumber: readNumber }))
      },
    ),
    { numRuns: 5_000 },
  )
  expect(taken).toBeGreaterThan(300)
})
