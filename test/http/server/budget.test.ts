import { expect, test } from 'vitest'
import { Budget } from '../../../src/http/server/capacity/budget.ts'

test('a sender may take half of what the others leave, so that some is left for a newcomer', () => {
  const budget = new Budget(1_000)
  const most = (sender: string): number => {
    let taken = 0
    while (budget.take(sender, 1)) taken++
    return taken
  }
  expect(['a', 'b', 'c', 'd'].map(most)).toEqual([500, 250, 125, 63])
  expect(budget.take('newcomer', 10)).toBe(true)
  budget.giveBack('a', 500)
  expect(most('e')).toBeGreaterThan(250)
})

test('many senders may take all of it, and what is given back can be taken again', () => {
  const budget = new Budget(100)
  const senders = Array.from({ length: 200 }, (_, at) => `sender ${at}`)
  expect(senders.filter((sender) => budget.take(sender, 1))).toHaveLength(100)
  expect(budget.take('another', 1)).toBe(false)
  budget.giveBack('sender 0', 1)
  expect(budget.take('another', 1)).toBe(true)
})
