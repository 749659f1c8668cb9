import { setTimeout as wait } from 'node:timers/promises'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { EncodedResponse } from '../../../src/http/cache/encoded-response.ts'
import { createFanOut } from '../../../src/http/live/delivery/fan-out.ts'
import { LiveConnection } from '../../../src/http/live/delivery/live-connection.ts'
import { UnsentFrames } from '../../../src/http/live/delivery/unsent-frames.ts'
import { EvaluationRefused } from '../../../src/http/live/responses/evaluation/evaluation-class.ts'
import { EvaluationQueue } from '../../../src/http/live/responses/evaluation/evaluation-queue.ts'
import { TurnSenders } from '../../../src/http/live/responses/evaluation/turn-senders.ts'
import type { SharedQuery } from '../../../src/http/live/responses/shared-query.ts'
import { SharedResponses } from '../../../src/http/live/responses/shared-responses.ts'
import { senderOfAddress } from '../../../src/http/sender.ts'
import { liveLimits } from '../../../src/limits/live.ts'
import { timePasses } from '../../support/time-passes.ts'

test('evaluations begin in several iterations of the event loop, so that other work runs between them', async () => {
  const queue = new EvaluationQueue(liveLimits)
  const busy = (): Promise<void> => {
    for (const until = performance.now() + 1; performance.now() < until;);
    return Promise.resolve()
  }
  let iterations = 0
  const counting = setInterval(() => iterations++, 0)
  await Promise.all(Array.from({ length: 200 }, () => queue.forShared(['one'], () => true, busy).result))
  clearInterval(counting)
  expect(iterations).toBeGreaterThan(10)
})

test('evaluations that nobody waits for any more are given up in several iterations of the event loop', async () => {
  const count = 200
  // Each iteration has the time of one step.
  const queue = new EvaluationQueue({ ...liveLimits, evaluations: 1, evaluationMilliseconds: 0 })
  let isWanted = true
  let end = (): void => undefined
  const first = queue.forOpening(
    'one',
    () => true,
    () => new Promise<void>((resolve) => (end = resolve)),
  )
  let givenUp = 0
  const others = Array.from({ length: count }, () =>
    queue
      .forOpening(
        'one',
        () => isWanted,
        () => Promise.resolve(),
      )
      .catch(() => givenUp++),
  )
  await timePasses(20)
  isWanted = false
  end()
  await first
  let iterations = 0
  while (givenUp < count) {
    iterations++
    await new Promise(setImmediate)
  }
  await Promise.all(others)
  expect(iterations).toBeGreaterThan(count / 4)
})

const ways = {
  'of shared responses': (
    queue: EvaluationQueue,
    sender: string,
    ...args: [isWanted: () => boolean, work: () => Promise<unknown>]
  ) => queue.forShared([sender], ...args).result,
  'of openings': (queue: EvaluationQueue, ...args: Parameters<EvaluationQueue['forOpening']>) =>
    queue.forOpening(...args),
}

describe.each(Object.entries(ways))('evaluations %s', (_, evaluate) => {
  test('take turns by sender, and those whose streams have closed are skipped', async () => {
    const queue = new EvaluationQueue({ ...liveLimits, evaluations: 1 })
    const order: string[] = []
    const ask = (sender: string, isWanted = true): Promise<unknown> =>
      evaluate(
        queue,
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

  test('of one IPv6 network share one turn', async () => {
    const queue = new EvaluationQueue({ ...liveLimits, evaluations: 1 })
    const order: string[] = []
    const ask = (address: string): Promise<unknown> =>
      evaluate(
        queue,
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

describe('evaluations that do not end', () => {
  const forever = (): Promise<never> => new Promise(() => undefined)
  const crowd = Array.from({ length: 3 * liveLimits.evaluations }, (_, at) => at)

  /** Resolves when an evaluation has begun. */
  async function begins(queue: EvaluationQueue, evaluate: (typeof ways)[keyof typeof ways]): Promise<void> {
    const work = vi.fn(() => Promise.resolve())
    void evaluate(queue, '10.0.0.1', () => true, work)
    await expect.poll(() => work).toHaveBeenCalled()
  }

  test.each([
    ['of streams that begin, shared responses', ways['of openings'], ways['of shared responses']],
    ['of shared responses, streams that begin', ways['of shared responses'], ways['of openings']],
  ])('%s do not wait for', async (_, occupy, evaluate) => {
    const queue = new EvaluationQueue(liveLimits)
    for (const at of crowd) void occupy(queue, `sender ${at}`, () => true, forever)
    await timePasses(20)
    await begins(queue, evaluate)
  })

  describe.each(Object.entries(ways))('%s', (_, evaluate) => {
    const sendersOf = {
      'one sender': () => 'crowd',
      'one network of IPv6': (at: number) => senderOfAddress(`2001:db8:1:${at}::1`),
      'eight senders': (at: number) => `sender ${at % 8}`,
    }

    test.each(Object.entries(sendersOf))('and are of %s leave capacity for others', async (_, senderAt) => {
      const queue = new EvaluationQueue(liveLimits)
      for (const at of crowd) void evaluate(queue, senderAt(at), () => true, forever)
      await timePasses(20)
      await begins(queue, evaluate)
    })

    test('keep the event loop idle', async () => {
      const queue = new EvaluationQueue(liveLimits)
      for (const at of crowd) void evaluate(queue, `sender ${at % 2}`, () => true, forever)
      await timePasses(20)
      const immediate = vi.spyOn(globalThis, 'setImmediate')
      await timePasses(20)
      expect(immediate.mock.calls.length).toBeLessThan(5)
      immediate.mockRestore()
    })
  })
})

test('all evaluations run, with any limit of concurrent ones of one client', async () => {
  const queue = new EvaluationQueue({ ...liveLimits, evaluations: 3 })
  const senders = Array.from({ length: 60 }, (_, at) => ['one', 'two', `2001:db8:1:${at}::/64`][at % 3] ?? '')
  let running = 0
  let maxRunning = 0
  const work = async (): Promise<void> => {
    maxRunning = Math.max(maxRunning, ++running)
    await wait(1)
    running--
  }
  await Promise.all(senders.map((sender) => queue.forShared([sender], () => true, work).result))
  expect(maxRunning).toBe(3)
})

/** Opens a stream for each of these senders, and returns the number of those that are not refused. */
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

describe('a shared response is evaluated in the turns of a sender that follows few', () => {
  const nothing = (): void => undefined
  const limits = { ...liveLimits, evaluations: 1, pushMilliseconds: 0, pushFactor: 0 }
  const vaults = Array.from({ length: 40 }, (_, at) => `vault ${at}`)
  /** Names of the evaluations that began, in their order. */
  let order: string[]
  /** Ends the evaluation that runs. */
  let end: () => void
  let responses: SharedResponses

  beforeEach(() => {
    order = []
    end = nothing
    const versions = new DataVersions()
    versions.listening(true)
    const fanOut = createFanOut(limits.sliceMilliseconds, 10)
    responses = new SharedResponses({ limits, fanOut, versions, onEvaluation: nothing, onDelivery: nothing })
  })

  const queryOf = (name: string): SharedQuery => ({
    name,
    evaluate: async () => {
      order.push(name)
      await new Promise<void>((resolve) => (end = resolve))
      const origin = { tags: new Set(['value']), version: null, isCacheable: true, notified: null }
      return { response: new EncodedResponse({ status: 200, headers: {}, body: name }, origin), version: null }
    },
    frame: (body) => body,
    refusal: ({ bytes }) => ({ frame: bytes, isEnd: false }),
    staleFrame: Buffer.from('stale'),
    ownStaleFrame: Buffer.from('stale'),
  })

  /** @returns closes the stream */
  function follow(names: readonly string[], sender: string): () => void {
    const closed: (() => void)[] = []
    const onClose = (callback: () => void): void => void closed.push(callback)
    const sink = { unsentBytes: 0, end: nothing, destroy: nothing, write: nothing, onDrain: nothing, onClose }
    const connection = new LiveConnection(sink, limits, sender, new UnsentFrames(1))
    for (const name of names) responses.follow(queryOf(name), connection)
    return () => closed.forEach((callback) => callback())
  }

  /** Ends one evaluation after the other until this number has begun. */
  async function untilBegun(evaluations: number): Promise<void> {
    await vi.waitFor(
      () => {
        end()
        expect(order.length).toBeGreaterThanOrEqual(evaluations)
      },
      { timeout: 20_000, interval: 1 },
    )
  }

  /** Evaluates all responses, and commits a change of all; the first evaluation after the commit runs. */
  async function commitToAll(): Promise<void> {
    await untilBegun(vaults.length)
    end()
    await timePasses(20)
    order = []
    responses.committed(['value'])
    await expect.poll(() => order).toHaveLength(1)
  }

  test('unless its streams have closed before', async () => {
    follow(['vault 0'], 'crowd')
    const close = follow(['vault 1'], 'one')
    follow(['vault 2'], 'two')
    close()
    end()
    await expect.poll(() => order).toEqual(['vault 0', 'vault 2'])
  })

  test('regardless of which sender followed it first', async () => {
    follow(vaults, 'crowd')
    follow(['vault 39'], 'one')
    await commitToAll()
    await untilBegun(4)
    expect(order.slice(0, 4)).toContain('vault 39')
  })

  test('even if it joins when the evaluation already waits in the turns of another sender', async () => {
    follow(vaults, 'crowd')
    await commitToAll()
    follow(['vault 39'], 'one')
    await untilBegun(4)
    expect(order.slice(0, 4)).toContain('vault 39')
  })

  const subscribersOf = (senders: readonly string[]) => new Set(senders.map((sender) => ({ connection: { sender } })))
  const thousand = () => subscribersOf(Array.from({ length: 1_000 }, (_, at) => `${at}`))
  async function inTurnsOf(turn: TurnSenders): Promise<string[]> {
    let chosen: string[] = []
    const queue: Pick<EvaluationQueue, 'forShared'> = {
      forShared(senders, _, work) {
        chosen = [...senders]
        return { result: work(), addTo: nothing, removeFrom: nothing }
      },
    }
    await turn.runInTurn(queue, () => Promise.resolve())
    return chosen
  }

  test('which has a stream of this response', async () => {
    const subscribers = subscribersOf(['crowd', 'one'])
    const follows = { of: (sender: string) => ({ crowd: 1_000, one: 2 })[sender] ?? 0 }
    const turn = new TurnSenders(subscribers, follows, 'owner')
    turn.joined('gone')
    expect(await inTurnsOf(turn)).toContain('gone')
    turn.left('gone')
    expect(new Set(await inTurnsOf(turn))).toEqual(new Set(['crowd', 'one']))
  })

  test('after a lookup of few of its streams, however many there are', async () => {
    let lookups = 0
    const turn = new TurnSenders(thousand(), { of: () => ++lookups }, 'owner')
    const senders = await inTurnsOf(turn)
    expect(lookups).toBeLessThan(50)
    expect(senders.length).toBeLessThan(10)
  })

  test('of many streams, after several evaluations', async () => {
    const follows = { of: (sender: string) => (sender === '999' ? 1 : 100) }
    const turn = new TurnSenders(thousand(), follows, 'owner')
    const chosen = await Promise.all(Array.from({ length: 300 }, () => inTurnsOf(turn)))
    expect(chosen.at(-1)).toContain('999')
  })

  /** Creates a turn with a waiting evaluation, and records the changes of the senders in whose turns it waits. */
  function waiting(result: Promise<unknown>) {
    const subscribers = subscribersOf(['crowd'])
    const turn = new TurnSenders(subscribers, { of: (sender) => (sender === 'crowd' ? 1_000 : 1) }, 'owner')
    const changes: string[] = []
    const addTo = (sender: string): void => void changes.push(`add ${sender}`)
    const removeFrom = (sender: string): void => void changes.push(`remove ${sender}`)
    const queue: Pick<EvaluationQueue, 'forShared'> = {
      forShared: (_senders, _isWanted, work) => ({ result: work(), addTo, removeFrom }),
    }
    const ended = turn.runInTurn(queue, () => result)
    return { subscribers, turn, changes, ended }
  }

  test('and is released when it has ended', async () => {
    const { turn, changes, ended } = waiting(Promise.resolve())
    await ended
    turn.joined('one')
    expect(changes).toEqual([])
  })

  test('and waits in the turns of no sender that has left, unless all have', () => {
    const { subscribers, turn, changes } = waiting(new Promise(() => undefined))
    turn.joined('one')
    turn.left('one')
    expect(changes).toEqual(['add one', 'add crowd', 'remove one'])
    subscribers.clear()
    turn.left('crowd')
    expect(changes).toHaveLength(3)
  })
})

describe('a shared response is evaluated in the turn of any of its senders if the share of another is used up', () => {
  const forever = (): Promise<never> => new Promise(() => undefined)
  const limits = { ...liveLimits, evaluations: 4 }

  function fullOf(sender: string): EvaluationQueue {
    const queue = new EvaluationQueue(limits)
    for (let at = 0; at < limits.evaluations; at++) void queue.forShared([sender], () => true, forever)
    return queue
  }

  test('from the beginning, once', async () => {
    const queue = fullOf('slow')
    const work = vi.fn(() => Promise.resolve('done'))
    expect(await queue.forShared(['slow', 'one'], () => true, work).result).toBe('done')
    await wait(1)
    expect(work).toHaveBeenCalledTimes(1)
  })

  test('from the time when that sender joins', async () => {
    const queue = fullOf('slow')
    const { result, addTo, removeFrom } = queue.forShared(
      ['slow'],
      () => true,
      () => Promise.resolve('done'),
    )
    addTo('one')
    removeFrom('slow')
    expect(await result).toBe('done')
  })

  test('but not in the turn of a sender that has left', async () => {
    const queue = fullOf('slow')
    const work = vi.fn(() => Promise.resolve())
    const { addTo, removeFrom } = queue.forShared(['slow'], () => true, work)
    removeFrom('slow')
    await wait(1)
    expect(work).not.toHaveBeenCalled()
    addTo('one')
    expect(work).toHaveBeenCalledTimes(1)
  })

  test('regardless of which sender follows fewer', async () => {
    const begun: string[] = []
    const nothing = (): void => undefined
    const versions = new DataVersions()
    versions.listening(true)
    const responses = new SharedResponses({
      limits,
      versions,
      fanOut: createFanOut(10, 10),
      onEvaluation: nothing,
      onDelivery: nothing,
    })
    const follow = (sender: string, reserved: number, names: readonly string[]): void => {
      const sink = {
        unsentBytes: 0,
        end: nothing,
        destroy: nothing,
        write: nothing,
        onDrain: nothing,
        onClose: nothing,
      }
      const connection = new LiveConnection(sink, limits, sender, new UnsentFrames(1))
      responses.reserve(sender, reserved)
      for (const name of names) {
        const evaluate = (): Promise<never> => {
          begun.push(name)
          return forever()
        }
        const refusal = () => ({ frame: Buffer.from(''), isEnd: false })
        const staleFrame = Buffer.from('stale')
        responses.follow(
          { name, evaluate, frame: (body) => body, refusal, staleFrame, ownStaleFrame: staleFrame },
          connection,
        )
      }
    }
    follow('slow', 0, ['slow 1', 'slow 2', 'both'])
    follow('one', 100, ['both'])
    await vi.waitFor(() => expect(begun).toContain('both'), { timeout: 20_000 })
  })
})
