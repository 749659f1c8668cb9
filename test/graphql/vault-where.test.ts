import { expect, test } from 'vitest'
import { filterOf } from '../../src/graphql/schema/vault-lists/vault-where.ts'

test('an argument is converted into a filter once, for the lists of all strategies, and another one by itself', () => {
  const where = { venue: ['aerodrome', 'aerodrome'] }
  expect(filterOf(where)).toMatchObject({ venue: ['aerodrome'] })
  expect(filterOf(where)).toBe(filterOf(where))
  expect(filterOf({ venue: ['uniswap-v3'] })).toMatchObject({ venue: ['uniswap-v3'] })
})
