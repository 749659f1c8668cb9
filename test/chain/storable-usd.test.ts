import { expect, test } from 'vitest'
import type { BlockState } from '../../src/chain/rpc/multicall.ts'
import { storableUsd } from '../../src/chain/valuation/valuation.ts'
import { Decimal } from '../../src/domain/decimal.ts'
import { ContractMismatch } from '../../src/chain/errors.ts'

const vault = '0x0000000000000000000000000000000000000001'
const state = { block: { number: 7 } } as unknown as BlockState

test.each([
  ['0', '0'],
  ['-0.0000001', '0'],
  ['0.0000005', '0'],
  [`${'9'.repeat(32)}.999999`, `${'9'.repeat(32)}.999999`],
])('an amount of %s USD is stored as %s', (usd, stored) => {
  expect(storableUsd(state, vault, new Decimal(usd)).toFixed()).toBe(stored)
})

test.each(['-0.000001', `1${'0'.repeat(32)}`])('an amount of %s USD sets its vault aside', (usd) => {
  expect(() => storableUsd(state, vault, new Decimal(usd))).toThrow(ContractMismatch)
  expect(() => storableUsd(state, vault, new Decimal(usd))).toThrow(/would be worth .* at block 7/)
})
