import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FairQueue } from '../../src/fairness/fair-queue.ts'

/** Single senders, and some of two networks. */
const networks = ['2001:db8:1', '2001:db8:2'] as const
const senders = [
  'a',
  'b',
  ...[1, 2, 3].map((net) => `${networks[0]}:${net}::/64`),
  `${networks[1]}:1::/64`,
  `${networks[1]}:2::/64`,
]
const clientName = (sender: string): string => {
  const network = networks.find((prefix) => sender.startsWith(`${prefix}:`))
  return network === undefined ? sender : `${network}::/48`
}

const steps = fc.array(
  fc.oneof(
    fc.record({ add: fc.constantFrom(...senders) }),
    fc.constant({ take: true } as const),
    fc.record({ takeBut: fc.constantFrom('a', 'b', ...networks.map((prefix) => `${prefix}::/48`)) }),
    fc.record({ drop: fc.nat(20) }),
  ),
  { maxLength: 60 },
)

interface Waiting {
  readonly sender: string
  readonly entries: number[]
}

/** Reference implementation: clients in the order of their turns, each with its senders in turn and their entries. */
class Model {
  turns: { readonly client: string; waiting: Waiting[] }[] = []

  add(sender: string, entry: number): void {
    const name = clientName(sender)
    let client = this.turns.find((each) => each.client === name)
    if (client === undefined) this.turns.push((client = { client: name, waiting: [] }))
    const known = client.waiting.find((each) => each.sender === sender)
    if (known === undefined) client.waiting.push({ sender, entries: [entry] })
    else known.entries.push(entry)
  }

  take(): number | undefined {
    const client = this.turns.shift()
    const first = client?.waiting.shift()
    const entry = first?.entries.shift()
    if (first !== undefined && first.entries.length > 0) client?.waiting.push(first)
    if (client !== undefined && client.waiting.length > 0) this.turns.push(client)
    return entry
  }

  peekWithout(name: string): number | undefined {
    return this.turns.find(({ client }) => client !== name)?.waiting[0]?.entries[0]
  }

  takeBut(name: string): number | undefined {
    const place = this.turns.findIndex(({ client }) => client !== name)
    if (place < 0) return undefined
    const passed = this.turns.splice(0, place)
    const entry = this.take()
    this.turns.unshift(...passed)
    return entry
  }

  drop(sender: string, entry: number): void {
    for (const client of this.turns) {
      for (const each of client.waiting) {
        if (each.sender === sender && each.entries.includes(entry)) each.entries.splice(each.entries.indexOf(entry), 1)
      }
      client.waiting = client.waiting.filter(({ entries }) => entries.length > 0)
    }
    this.turns = this.turns.filter(({ waiting }) => waiting.length > 0)
  }

  sizeOf(isCounted: (sender: string) => boolean): number {
    const waiting = this.turns.flatMap((client) => client.waiting)
    return waiting.flatMap(({ sender, entries }) => (isCounted(sender) ? entries : [])).length
  }
}

test('serves networks and their senders in turn, each first in first out, also after removals and skips', () => {
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
        } else if ('takeBut' in step) {
          expect(queue.take((client) => client !== step.takeBut)?.entry).toBe(model.takeBut(step.takeBut))
        } else {
          const next = queue.peek()
          for (const name of ['a', `${networks[0]}::/48`])
            expect(queue.peek((client) => client !== name)).toBe(model.peekWithout(name))
          const taken = model.take()
          expect([next, queue.take()?.entry]).toEqual([taken, taken])
        }
        expect(queue.size).toBe(model.sizeOf(() => true))
        for (const sender of senders) {
          const client = clientName(sender)
          expect(queue.sizeOf(sender)).toBe(model.sizeOf((each) => each === sender))
          expect(queue.sizeOfClient(sender)).toBe(model.sizeOf((each) => clientName(each) === client))
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
