import { expect, test } from 'vitest'
import { SenderReadTimes } from '../../../src/http/server/pacing/read-times.ts'

test('the costs of more addresses than are counted are forgotten, however long connections wait', () => {
  const costs = new SenderReadTimes(5, 100)
  costs.add('heavy', 50)
  for (let count = 1; count < 100; count++) costs.add(`other ${count}`, 1)
  expect(costs.isHeavy('heavy')).toBe(true)
  costs.add('heavy', 1)
  expect(costs.isHeavy('heavy')).toBe(true)
  costs.add('one more', 6)
  expect([costs.isHeavy('heavy'), costs.isHeavy('one more')]).toEqual([false, true])
})
