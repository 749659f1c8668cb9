import { expect, test } from 'vitest'
import { valuesBeforeFlows } from '../../src/chain/facts/flows.ts'
import { Decimal } from '../../src/domain/decimal.ts'

const flow = (amount: number) => ({ isDeposit: amount > 0, amountUsd: new Decimal(Math.abs(amount)) })

test.each<[string, number, number[], string[]]>([
  ['nothing', 5, [], []],
  ['a deposit', 105, [100], ['5']],
  ['a withdrawal', 5, [-100], ['105']],
  ['several', 130, [100, -20, 50], ['0', '100', '80']],
  ['all of it', 0, [-60, -40], ['100', '40']],
  // The deposit lost value in the same block.
  ['a deposit of more than is left', 99, [100], ['0']],
  ['a withdrawal before such a deposit', 99, [-30, 100], ['30', '0']],
])('before %s, a vault that ends with %d was worth what is left without', (_name, end, amounts, before) => {
  expect(valuesBeforeFlows(new Decimal(end), amounts.map(flow)).map(String)).toEqual(before)
})
