import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { EncodedResponse } from '../../../src/http/cache/encoded-response.ts'
import { createFanOut } from '../../../src/http/live/delivery/fan-out.ts'
import { LiveConnection } from '../../../src/http/live/delivery/live-connection.ts'
import { UnsentFrames } from '../../../src/http/live/delivery/unsent-frames.ts'
import { EvaluationQueue, EvaluationRefused } from '../../../src/http/live/responses/evaluation-queue.ts'
import type { FollowedQuery } from '../../../src/http/live/responses/followed-query.ts'
import { FollowedResponses } from '../../../src/http/live/responses/followed-responses.ts'
import { senderOfAddress } from '../../../src/http/sender.ts'
import { liveLimits } from '../../../src/limits/live.ts'
import { LiveValue } from '../../support/live-value.ts'

test('evaluations begin in several iterations of the event loop, in which other work has its turn', async () => {
  const queue = new EvaluationQueue(liveLimits)
  const busy = (): Promise<void> => {
    for (const until = performance.now() + 1; performance.now() < until;);
    return Promise.resolve()
  }
  let iterations = 0
  const counting = setInterval(() => iterations++, 0)
  await Promise.all(Array.from({ length: 200 }, () => queue.forFollowed('one', () => true, busy)))
  clearInterval(counting)
  expect(iterations).toBeGreaterThan(10)
})

describe.each(['forFollowed', 'forOpening'] as const)('evaluations %s', (of) => {
  test('take turns by sender, and those that nobody waits for are left out', async () => {
    const queue = new EvaluationQueue({ ...liveLimits, evaluations: 1 })
    const order: string[] = []
    const ask = (sender: string, isWanted = true): Promise<void> =>
      queue[of](
        sender,
        () => isWanted,
        async () => {
          await wait(1)
          order.push(sender)
        },
      )
    const crowd = Array.from({ length: 1 + 5 }, () => ask('crowd'))
    const gone = expect(ask('gone', false)).rejects.toThrow(EvaluationRefused)
    await Promise.all([...crowd, ask('one'), gone])
    expect(order.indexOf('one')).toBeLessThanOrEqual(2)
    expect(order).toHaveLength(7)
  })

  test('of one network of IPv6 have one turn', async () => {
    const queue = new EvaluationQueue({ ...liveLimits, evaluations: 1 })
    const order: string[] = []
    const ask = (address: string): Promise<void> =>
      queue[of](
        senderOfAddress(address),
        () => true,
        async () => {
          await wait(1)
          order.push(address)
        },
      )
    await Promise.all([...Array.from({ length: 6 }, (_, at) => ask(`2001:db8:1:${at}::1`)), ask('10.0.0.1')])
    expect(order.indexOf('10.0.0.1')).toBeLessThanOrEqual(2)
  })
})

/** Returns how many of so many streams that begin are not refused. */
async function begun(queue: EvaluationQueue, senders: readonly string[]): Promise<number> {
  const openings = senders.map((sender) =>
    queue
      .forOpening(
        sender,
        () => true,
        () => wait(1),
      )
      .then(
        () => 1,
        () => 0,
      ),
  )
  return (await Promise.all<number>(openings)).reduce((sum, one) => sum + one)
}

test.each([
  ['sender', Array.from({ length: 12 }, () => 'crowd')],
  ['network of IPv6', Array.from({ length: 12 }, (_, at) => senderOfAddress(`2001:db8:1:${at}::1`))],
])('of the streams that may wait to begin, those of one %s are half', async (_, senders) => {
  const queue = new EvaluationQueue({ ...liveLimits, evaluations: 1, openings: 10 })
  // One runs, and five wait.
  expect(await begun(queue, senders)).toBe(1 + 5)
})

test('a key whose streams have closed before its turn is not evaluated', async () => {
  const value = new LiveValue({ evaluations: 1 })
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  const other = value.responses.evaluateFirst(
    'other',
    () => true,
    () => opened,
  )
  value.join().close()
  open()
  await other
  await value.responses.evaluateFirst(
    'other',
    () => true,
    () => Promise.resolve(),
  )
  await wait(10)
  expect(value.pending).toHaveLength(0)
})

test('a response has a turn of the sender that follows the fewest, whoever followed it first', async () => {
  const nothing = (): void => undefined
  const limits = { ...liveLimits, evaluations: 1, pushMilliseconds: 0, pushFactor: 0 }
  const versions = new DataVersions()
  versions.listening(true)
  const fanOut = createFanOut(limits.slice, 10)
  const responses = new FollowedResponses({ limits, fanOut, versions, onEvaluation: nothing, onDelivery: nothing })
  const order: string[] = []
  const frame = (body: Buffer): Buffer => body
  const queryOf = (name: string): FollowedQuery => ({
    name,
    evaluate: async () => {
      await wait(1)
      order.push(name)
      const origin = { tags: new Set(['value']), version: null, isCacheable: true }
      return { response: new EncodedResponse({ status: 200, headers: {}, body: name }, origin), version: null }
    },
    frame,
    refusal: ({ bytes }) => ({ frame: frame(bytes), isEnd: false }),
    staleFrame: Buffer.from('stale'),
  })
  const sink = { unsentBytes: 0, end: nothing, destroy: nothing, write: nothing, onDrain: nothing, onClose: nothing }
  const follow = (name: string, sender: string): void =>
    responses.follow(queryOf(name), new LiveConnection(sink, limits, sender, new UnsentFrames(1)))
  const names = Array.from({ length: 20 }, (_, at) => `vault ${at}`)
  for (const name of names) follow(name, 'crowd')
  follow('vault 19', 'one')
  await vi.waitFor(() => expect(order).toHaveLength(20), 5_000)
  await wait(50)
  order.length = 0
  responses.committed(['value'])
  await vi.waitFor(() => expect(order).toHaveLength(20), 5_000)
  expect(order.indexOf('vault 19')).toBeLessThanOrEqual(2)
})
