import { expect, test } from 'vitest'
import { Canceller } from '../../../../src/database/cancellation.ts'
import { ReadCancelled } from '../../../../src/database/errors.ts'
import {
  type AdmissionControl,
  createAdmissionControl,
} from '../../../../src/graphql/execution/admission/admission-control.ts'
import { createExecutor } from '../../../../src/graphql/execution/executor.ts'
import { FallbackQueue } from '../../../../src/graphql/execution/admission/fallback-queue.ts'
import { schema } from '../../../../src/graphql/schema/schema.ts'
import { admissionLimits, defaultQueryLimits } from '../../../../src/limits.ts'
import { tooManyFields, withTooManyFields } from '../../../support/not-compilable.ts'

const one = { sender: 'one' }
const cheap = admissionLimits.cheapCost
const expensive = cheap + 1

/** Blocks the event loop. */
function block(milliseconds: number): void {
  for (const until = performance.now() + milliseconds; performance.now() < until;);
}

async function iterations(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise((resolve) => setImmediate(resolve))
}

/** Creates a queue, and the pauses of its admission control, which the test ends. */
function recording() {
  const pauses: { readonly milliseconds: number; readonly end: () => void }[] = []
  const pause = (milliseconds: number): Promise<void> =>
    new Promise((end) => {
      pauses.push({ milliseconds, end })
    })
  const reasons: string[] = []
  return {
    queue: new FallbackQueue({ pause }, { onFallback: (reason) => void reasons.push(reason) }),
    pauses,
    reasons,
  }
}

test('an execution waits while the event loop pauses after one that blocked it, and for as long', async () => {
  const { queue, pauses, reasons } = recording()
  const begun: number[] = []
  const run = (number: number): Promise<number> =>
    queue.execute('not compiled', expensive, one, () => {
      begun.push(number)
      block(5)
      return number
    })
  const results = [1, 2, 3].map(run)
  for (let number = 1; number <= 3; number++) {
    await iterations(5)
    expect(begun).toHaveLength(number)
    expect(pauses).toHaveLength(number)
    expect(pauses.at(-1)?.milliseconds).toBeGreaterThanOrEqual(5)
    pauses.at(-1)?.end()
  }
  expect(await Promise.all(results)).toEqual([1, 2, 3])
  expect(reasons).toEqual(['not compiled', 'not compiled', 'not compiled'])
})

test('failed operations do not wait for the pause after those that are not compiled', async () => {
  const { queue } = recording()
  await queue.execute('not compiled', expensive, one, () => block(5))
  expect(await queue.execute('error', expensive, one, () => 'failed')).toBe('failed')
})

test('failed operations that block the event loop delay the next one of them, and not admission control', async () => {
  const { queue, pauses } = recording()
  const began = performance.now()
  await queue.execute('error', expensive, one, () => block(20))
  const nextBegan = await queue.execute('error', expensive, one, () => performance.now())
  // Twice as long as it blocked; a timer may fire a millisecond early.
  expect(nextBegan - began).toBeGreaterThan(50)
  expect(pauses).toEqual([])
})

test('an execution keeps its turn while it waits for reads, until it has ended', async () => {
  const { queue } = recording()
  const order: string[] = []
  const first = queue.execute('error', expensive, one, async () => {
    order.push('first begins')
    await iterations(20)
    order.push('first ends')
  })
  await Promise.all([first, queue.execute('error', expensive, one, () => order.push('second begins'))])
  expect(order).toEqual(['first begins', 'first ends', 'second begins'])
})

test('an execution that waits long keeps its turn for a limited time, because it may wait for the next one', async () => {
  const { queue } = recording()
  let end: () => void = () => undefined
  const first = queue.execute(
    'error',
    expensive,
    one,
    () => new Promise<string>((resolve) => (end = () => resolve('first'))),
  )
  await queue.execute('error', expensive, one, () => end())
  expect(await first).toBe('first')
})

test('cheap operations do not wait for the reads of others, nor for expensive operations', async () => {
  const { queue } = recording()
  const order: string[] = []
  let end: () => void = () => undefined
  const reads = new Promise<void>((resolve) => (end = resolve))
  const slow = [expensive, cheap].map((cost) =>
    queue.execute('error', cost, one, async () => {
      await reads
      order.push('slow')
    }),
  )
  void queue.execute('error', cheap, { sender: 'other' }, () => order.push('fast'))
  await iterations(20)
  end()
  await Promise.all(slow)
  expect(order).toEqual(['fast', 'slow', 'slow'])
})

test('cheap operations start one after the other, with a rest after each that blocks the event loop', async () => {
  const { queue, pauses } = recording()
  const begun: number[] = []
  const run = (number: number): Promise<void> =>
    queue.execute('not compiled', cheap, one, () => {
      begun.push(number)
      block(5)
    })
  const both = [1, 2].map(run)
  await iterations(5)
  expect(begun).toEqual([1])
  expect(pauses[0]?.milliseconds).toBeGreaterThanOrEqual(5)
  pauses[0]?.end()
  await Promise.all(both)
  expect(begun).toEqual([1, 2])
})

test('compilations for one run take turns with cheap operations, and rest', async () => {
  const { queue, pauses, reasons } = recording()
  const begun: string[] = []
  const compiled = queue.compile(one, () => {
    begun.push('compiled')
    block(5)
    return 'variant'
  })
  const next = queue.execute('not compiled', cheap, { sender: 'other' }, () => begun.push('other'))
  expect(await compiled).toBe('variant')
  await iterations(5)
  expect(begun).toEqual(['compiled'])
  pauses[0]?.end()
  await next
  expect(begun).toEqual(['compiled', 'other'])
  expect(reasons).toEqual(['not compiled'])
})

test('the pause includes the time in which later values and the text of the result blocked the event loop', async () => {
  const { queue, pauses } = recording()
  await queue.execute('not compiled', expensive, one, async () => {
    await iterations(2)
    block(30)
  })
  block(20)
  await iterations(2)
  expect(pauses).toHaveLength(1)
  expect(pauses[0]?.milliseconds).toBeGreaterThanOrEqual(40)
})

test('an execution that is cancelled before its turn does not start, and delays no other', async () => {
  const { queue } = recording()
  const gone = new Canceller()
  const begun: string[] = []
  const cancelled = queue.execute('not compiled', expensive, { ...one, signal: gone }, () => begun.push('cancelled'))
  const next = queue.execute('not compiled', expensive, one, () => begun.push('next'))
  gone.abort()
  await expect(cancelled).rejects.toBeInstanceOf(ReadCancelled)
  await next
  expect(begun).toEqual(['next'])
})

test('senders take turns, and those of one network as one', async () => {
  const { queue } = recording()
  const begun: string[] = []
  const senders = ['one', 'one', 'one', '2001:db8:1:1::/64', '2001:db8:1:2::/64', '2001:db8:1:2::/64', 'other']
  await Promise.all(senders.map((sender) => queue.execute('error', expensive, { sender }, () => begun.push(sender))))
  expect(begun.slice(0, 3)).toEqual(['one', '2001:db8:1:1::/64', 'other'])
  expect(begun).toHaveLength(senders.length)
})

test('an execution that fails rejects its own result only', async () => {
  const { queue } = recording()
  const failing = queue.execute('error', expensive, one, () => Promise.reject(new Error('own')))
  const next = queue.execute('error', expensive, one, () => 'next')
  await expect(failing).rejects.toThrow('own')
  expect(await next).toBe('next')
})

test('after an operation that is not compiled, preparation and expensive operations wait for as long as it took', async () => {
  const pauses: number[] = []
  const own = createAdmissionControl(admissionLimits)
  const admission: AdmissionControl = {
    run: (work, ticket) => own.run(work, ticket),
    runPreparation: (work, ticket) => own.runPreparation(work, ticket),
    pause: (milliseconds) => {
      pauses.push(milliseconds)
      return own.pause(milliseconds)
    },
  }
  const runConsistently = (_: unknown, work: (context: never) => unknown): Promise<never> =>
    Promise.resolve(work(undefined as never)) as Promise<never>
  const limits = withTooManyFields(defaultQueryLimits)
  const executor = createExecutor({ schema, limits, admission, runConsistently })
  const requestContext = { report: String, sender: 'one' }
  const prepared = await executor.prepare(`{ ${tooManyFields} }`, requestContext)
  const both = await Promise.all([1, 2].map(() => executor.run(prepared, {}, requestContext)))
  expect(both.map(({ errors }) => errors)).toEqual([undefined, undefined])
  expect(pauses.length).toBeGreaterThanOrEqual(1)
  let isPrepared = false
  const since = performance.now()
  void own.pause(60)
  await own.runPreparation(() => void (isPrepared = true), {
    cost: admissionLimits.shortPreparation + 1,
    sender: 'one',
  })
  expect(isPrepared).toBe(true)
  // A timer counts from the start of its iteration of the event loop, and may fire as much before its time.
  expect(performance.now() - since).toBeGreaterThan(30)
})

test('an execution whose request is cancelled leaves at once, while another one has the turn', async () => {
  const { queue } = recording()
  const first = queue.execute(
    'error',
    expensive,
    one,
    () => new Promise<string>((resolve) => setTimeout(resolve, 200, 'first')),
  )
  await iterations(3)
  const signal = new Canceller()
  let isFirstRunning = true
  void first.then(() => (isFirstRunning = false))
  const cancelled = queue.execute('error', expensive, { sender: 'two', signal }, () => 'never')
  signal.abort()
  await expect(cancelled).rejects.toThrow(ReadCancelled)
  expect(isFirstRunning).toBe(true)
  expect(await first).toBe('first')
  expect(await queue.execute('error', expensive, one, () => 'next')).toBe('next')
})
