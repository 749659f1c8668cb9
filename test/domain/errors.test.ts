import { expect, test } from 'vitest'
import { InvalidAddress, InvalidAmount, InvalidTime } from '../../src/domain/errors.ts'

test.each([
  [Infinity, 'Infinity'],
  [-1.5, '-1.5'],
  ['a"', '"a\\""'],
  [{ a: null }, '{"a":null}'],
  ['x'.repeat(100), `"${'x'.repeat(79)}`],
])('an invalid value is told as it was given: %j', (value, told) => {
  expect(new InvalidTime(value, 7).message).toBe(`${told} is not a time in Unix seconds, a whole number from 0 to 7`)
  expect(new InvalidAmount(value).message.slice(0, told.length + 1)).toBe(`${told} `)
})

test.each([
  [12, '12'],
  [Infinity, 'Infinity'],
  [['x'], '["x"]'],
  ['12', '"12"'],
])('a value that is no address is told as it was given: %j', (value, told) => {
  expect(new InvalidAddress(value, 'why').message).toBe(`${told} is not an address: why`)
})
