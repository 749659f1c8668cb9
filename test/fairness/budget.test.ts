import { expect, test } from 'vitest'
import { Budget } from '../../src/fairness/budget.ts'

test('a sender may take a fair share of what the others leave, so that some is left for a newcomer', () => {
  const budget = new Budget(1_000)
  const takeAll = (sender: string): number => {
    let taken = 0
    while (budget.take(sender, 1)) taken++
    return taken
  }
  expect(['a', 'b', 'c', 'd'].map(takeAll)).toEqual([500, 125, 71, 47])
  expect(budget.take('newcomer', 10)).toBe(true)
  budget.giveBack('a', 500)
  expect(takeAll('e')).toBeGreaterThan(250)
})

test('dozens of senders that take their maximum leave a rest, in bytes too', () => {
  const [requests, bytes] = [new Budget(1_000), new Budget(32 * 1024 * 1024)]
  for (let sender = 0; sender < 44; sender++) {
    while (requests.take(`sender ${sender}`, 1));
    while (bytes.take(`sender ${sender}`, 1_024));
  }
  expect(requests.take('newcomer', 1)).toBe(true)
  expect(bytes.take('newcomer', 16_384)).toBe(true)
})

test('many senders together may take all of it, and returned capacity can be taken again', () => {
  const budget = new Budget(100)
  const senders = Array.from({ length: 200 }, (_, at) => `sender ${at}`)
  expect(senders.filter((sender) => budget.take(sender, 1))).toHaveLength(100)
  expect(budget.take('another', 1)).toBe(false)
  budget.giveBack('sender 0', 1)
  expect(budget.take('another', 1)).toBe(true)
})

test('many senders of one IPv6 network may take a fair share of what the others leave', () => {
  const budget = new Budget(100)
  const senders = (network: number): string[] => Array.from({ length: 99 }, (_, at) => `2001:db8:${network}:${at}::/64`)
  const takenOf = (network: number): number => senders(network).filter((sender) => budget.take(sender, 1)).length
  expect([takenOf(1), takenOf(2)]).toEqual([50, 13])
  for (const sender of senders(1).slice(0, 20)) budget.giveBack(sender, 1)
  expect(takenOf(1)).toBe(8)
})
