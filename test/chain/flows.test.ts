import { expect, test } from 'vitest'
import { valuesBeforeFlows } from '../../src/chain/facts/flows.ts'
import { Decimal } from '../../src/domain/decimal.ts'

const flow = (amount: number) => ({ isDeposit: amount > 0, amountUsd: new Decimal(Math.abs(amount)) })

async function before(end: number, start: number, amounts: number[]): Promise<string[]> {
  const readStart = () => Promise.resolve(new Decimal(start))
  return (await valuesBeforeFlows(new Decimal(end), amounts.map(flow), readStart)).map(String)
}

test.each<[string, number, number[], string[]]>([
  ['nothing', 5, [], []],
  ['a deposit', 205, [100], ['105']],
  ['a withdrawal', 5, [-100], ['105']],
  ['several', 1030, [100, -20, 50], ['900', '1000', '980']],
  ['all of it', 0, [-60, -40], ['100', '40']],
  ['a deposit of as much', 200, [100], ['100']],
])('before %s, a vault that ends with %d was worth what is left without', async (_name, end, amounts, values) => {
  expect(await before(end, 1e6, amounts)).toEqual(values)
})

test.each<[string, number, number, number[], string[]]>([
  ['a deposit into an empty vault', 99, 0, [100], ['0']],
  ['a deposit of more than was there', 104, 7, [100], ['7']],
  ['a deposit of more than is left', 99, 7, [100], ['7']],
  ['a deposit as large as what is left with its cost', 1980, 990, [1000], ['990']],
  ['a withdrawal before such a deposit', 99, 37, [-30, 100], ['37', '7']],
  // The loss counts before the withdrawal, when the vault held more.
  ['a withdrawal after such a deposit', 2, 10, [1000, -1005], ['10', '1007']],
  ['a withdrawal of more than was there', 99, 7, [-30, 100], ['30', '0']],
])(
  'before %s, a vault that ends with %d lost or earned when most was there',
  async (_name, end, start, amounts, values) => {
    expect(await before(end, start, amounts)).toEqual(values)
  },
)
