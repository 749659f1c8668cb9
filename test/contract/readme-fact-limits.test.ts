import { expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { maxLineBytes, parseFact } from '../../src/feed/fact/parse.ts'
import { deposit, event, mark, midnight, position, strategy, vaultA } from '../support/world.ts'
import { readmeOf, tableOf } from './readmes.ts'

const at = midnight
const amount = (digits: string) => ({ type: 'deposit', assets: [{ symbol: 'A', amount: digits }] }) as const
const texts = (key: 'tagline' | 'description') => (text: string) => ({ ...strategy('one'), [key]: text })

/** Facts with a value of each row of the table: as an amount or as a text. */
const factsWith: Record<string, readonly ((value: string) => FactInput)[]> = {
  'USD amount': [(value) => mark(vaultA, at, value), (value) => deposit(vaultA, at, '0', value)],
  'token amount': [(value) => ({ ...deposit(vaultA, at, '0'), ...amount(value) }) as FactInput],
  price: [(value) => mark(vaultA, at, '0', { prices: { A: value } })],
  'identifier, name, symbol, venue': [
    (id) => ({ ...strategy('one'), id }) as FactInput,
    (value) => ({ ...strategy('one'), name: value }) as FactInput,
    (value) => mark(vaultA, at, '0', { positions: [position(value)] }),
    (value) => mark(vaultA, at, '0', { prices: { [value]: '1' } }),
    (value) => event(vaultA, at, { type: 'plant', positionId: value }),
  ],
  'tagline, description, reason of a suspension': [
    (value) => texts('tagline')(value),
    (value) => texts('description')(value),
    (reason) => event(vaultA, at, { type: 'suspend', reason }),
  ],
}

const isValid = (fact: FactInput): boolean => parseFact(Buffer.from(JSON.stringify(fact))).ok
const { rows } = tableOf(readmeOf('src/feed'), 'value', 'limit')
const numbersOf = (limit = ''): number[] =>
  [...limit.matchAll(/[\d,]+\d|\d/g)].map(([text]) => Number(text.replaceAll(',', '')))

test('the table of the limits of facts has all of them', () => {
  expect(rows.map(([value]) => value)).toEqual([...Object.keys(factsWith), 'line'])
})

test.each(Object.entries(factsWith))('the limit of %s is as documented', (value, facts) => {
  const [, limit] = rows.find(([first]) => first === value) ?? []
  const [first = NaN, second = first] = numbersOf(limit)
  const digits = (before: number, decimals: number): string => `${'9'.repeat(before)}.${'9'.repeat(decimals)}`
  const isAmount = limit?.includes('digits') === true
  const valid = isAmount ? [digits(first, second)] : ['x'.repeat(second), '\u{1f331}'.repeat(second)]
  const beyond = isAmount ? [digits(first + 1, second), digits(first, second + 1)] : ['x'.repeat(second + 1)]
  if (!isAmount && first !== second) beyond.push('x'.repeat(first - 1))
  for (const fact of facts) {
    for (const text of valid) expect(isValid(fact(text)), text.slice(0, 9)).toBe(true)
    for (const text of beyond) expect(isValid(fact(text)), text.slice(0, 9)).toBe(false)
  }
})

test('the limit of a line is as documented', () => {
  const [, limit] = rows.find(([first]) => first === 'line') ?? []
  expect(numbersOf(limit)).toEqual([maxLineBytes])
})
