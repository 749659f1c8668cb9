import { expect, test } from 'vitest'
import { Decimal, usdDigits } from '../../src/domain/decimal.ts'
import { emptyDatabase } from '../support/database.ts'
import { addressOf, apply, deposit, mark, midnight, opened, strategy } from '../support/world.ts'

test('many vaults of one strategy may have the largest value on one day', async () => {
  const database = await emptyDatabase()
  const largest = '9'.repeat(usdDigits)
  const vaults = Array.from({ length: 150 }, (_, at) => addressOf(at + 1))
  const { applied } = await apply(database, [
    strategy('one'),
    ...vaults.map((vault) => opened(vault, 'one')),
    ...vaults.map((vault, at) => ({ ...deposit(vault, midnight + 10, '1'), logIndex: at })),
    ...vaults.map((vault) => mark(vault, midnight + 20, largest)),
  ])
  expect(applied).toMatchObject({ mark: vaults.length })
  const [day] = await database.prisma.strategyDay.findMany()
  expect(day?.changeUsd.toFixed()).toBe(new Decimal(largest).times(vaults.length).toFixed())
})
