import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FairQueue } from '../../../../src/graphql/execution/admission/fair-queue.ts'

const steps = fc.array(
  fc.oneof(
    fc.record({ add: fc.constantFrom('a', 'b', 'c') }),
    fc.constant({ take: true } as const),
    fc.record({ drop: fc.nat(20) }),
  ),
  { maxLength: 60 },
)

/** As slow as can be: the senders in the order of their turns, each with what waits of it. */
class Model {
  turns: { readonly sender: string; readonly entries: number[] }[] = []

  add(sender: string, entry: number): void {
    const known = this.turns.find((each) => each.sender === sender)
    if (known === undefined) this.turns.push({ sender, entries: [entry] })
    else known.entries.push(entry)
  }

  take(): number | undefined {
    const first = this.turns.shift()
    const entry = first?.entries.shift()
    if (first !== undefined && first.entries.length > 0) this.turns.push(first)
    return entry
  }

  drop(sender: string, entry: number): void {
    for (const each of this.turns) {
      if (each.sender === sender && each.entries.includes(entry)) each.entries.splice(each.entries.indexOf(entry), 1)
    }
    this.turns = this.turns.filter(({ entries }) => entries.length > 0)
  }
}

test('serves senders in turn, each first in first out, whoever leaves', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const queue = new FairQueue<number>()
      const model = new Model()
      const senderOf: string[] = []
      for (const step of all) {
        if ('add' in step) {
          queue.add(step.add, senderOf.length)
          model.add(step.add, senderOf.length)
          senderOf.push(step.add)
        } else if ('drop' in step) {
          const sender = senderOf[step.drop] ?? 'a'
          queue.delete(sender, step.drop)
          model.drop(sender, step.drop)
        } else {
          const next = queue.peek()
          const taken = model.take()
          expect([next, queue.take()]).toEqual([taken, taken])
        }
        expect(queue.size).toBe(model.turns.flatMap(({ entries }) => entries).length)
        for (const sender of ['a', 'b', 'c']) {
          expect(queue.sizeOf(sender)).toBe(model.turns.find((each) => each.sender === sender)?.entries.length ?? 0)
        }
      }
    }),
  )
})

test('the sender with the most entries is found, also after some were taken', () => {
  const queue = new FairQueue<number>()
  expect(queue.largest()).toBeUndefined()
  for (const [entry, sender] of ['a', 'b', 'b', 'c', 'b', 'c'].entries()) queue.add(sender, entry)
  expect(queue.largest()).toBe('b')
  for (let taken = 0; taken < 2; taken++) queue.takeOf('b')
  expect(queue.largest()).toBe('c')
})
