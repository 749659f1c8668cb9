import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ReadCancelled } from '../../../src/database/errors.ts'
import { createTaskQueues } from '../../../src/database/pglite/task-queue.ts'

describe('task queues', () => {
  const kinds = fc.array(fc.constantFrom('short', 'long'), { maxLength: 30 })

  test('run one task at a time, each kind in order, and alternate between kinds while both wait', async () => {
    await fc.assert(
      fc.asyncProperty(kinds, async (kindsOfTasks) => {
        const queues = createTaskQueues()
        const order: number[] = []
        let running = 0
        await Promise.all(
          kindsOfTasks.map((kind, index) =>
            queues[kind](async () => {
              expect(++running).toBe(1)
              await Promise.resolve()
              order.push(index)
              running--
            }),
          ),
        )
        for (const kind of ['short', 'long']) {
          const ofKind = order.filter((index) => kindsOfTasks[index] === kind)
          expect(ofKind).toEqual(ofKind.toSorted((a, b) => a - b))
        }
        // The first task started before the others were added.
        for (let at = 2; at < order.length; at++) {
          const [before, now] = [kindsOfTasks[order[at - 1] ?? 0], kindsOfTasks[order[at] ?? 0]]
          const left = order.slice(at).map((index) => kindsOfTasks[index])
          if (before === now) expect(new Set(left).size).toBe(1)
        }
      }),
    )
  })

  test('run the event loop after a long task', async () => {
    const { long } = createTaskQueues()
    const order: string[] = []
    setImmediate(() => order.push('network'))
    const first = long(() => Promise.resolve(order.push('first')))
    const second = long(() => Promise.resolve(order.push('second')))
    await Promise.all([first, second])
    expect(order).toEqual(['first', 'network', 'second'])
  })

  test('isolate a failed task, and skip a cancelled one', async () => {
    const { short } = createTaskQueues()
    const gone = new AbortController()
    const failed = short(() => Promise.reject(new Error('no')))
    const left = short(() => Promise.resolve('it ran'), gone.signal)
    gone.abort()
    await expect(failed).rejects.toThrow('no')
    await expect(left).rejects.toBeInstanceOf(ReadCancelled)
    expect(await short(() => Promise.resolve('the next'))).toBe('the next')
  })
})
