import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ReadCancelled } from '../../../src/database/errors.ts'
import type { Read, Value, Versioned } from '../../../src/database/database.ts'
import { chunkedReads } from '../../../src/database/batching/chunked-reads.ts'
import { createTaskQueues } from '../../../src/database/pglite/task-queue.ts'

describe('work in turn', () => {
  const kinds = fc.array(fc.constantFrom('short', 'long'), { maxLength: 30 })

  test('runs alone, each kind in its order, and neither twice in a row while the other waits', async () => {
    await fc.assert(
      fc.asyncProperty(kinds, async (asked) => {
        const turns = createTaskQueues()
        const order: number[] = []
        let running = 0
        await Promise.all(
          asked.map((kind, index) =>
            turns[kind](async () => {
              expect(++running).toBe(1)
              await Promise.resolve()
              order.push(index)
              running--
            }),
          ),
        )
        for (const kind of ['short', 'long']) {
          const ofKind = order.filter((index) => asked[index] === kind)
          expect(ofKind).toEqual(ofKind.toSorted((a, b) => a - b))
        }
        // The first began before any other had come.
        for (let at = 2; at < order.length; at++) {
          const [before, now] = [asked[order[at - 1] ?? 0], asked[order[at] ?? 0]]
          const left = order.slice(at).map((index) => asked[index])
          if (before === now) expect(new Set(left).size).toBe(1)
        }
      }),
    )
  })

  test('lets the network in after what is long', async () => {
    const { long } = createTaskQueues()
    const order: string[] = []
    setImmediate(() => order.push('network'))
    const first = long(() => Promise.resolve(order.push('first')))
    const second = long(() => Promise.resolve(order.push('second')))
    await Promise.all([first, second])
    expect(order).toEqual(['first', 'network', 'second'])
  })

  test('fails for itself alone, and is not begun where it was given up', async () => {
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

describe('a read of many vaults', () => {
  const keys = Array.from({ length: 10 }, (_, index) => `v${index}`)

  async function piecesOf(
    asked: Partial<Read>,
    first: Value,
    versions: string[] = [],
  ): Promise<{ pieces: unknown[]; rows: unknown[]; version: string | null }> {
    const pieces: unknown[] = []
    const read = <Row>(_: Read, values: readonly Value[]): Promise<Versioned<Row>> => {
      pieces.push(values)
      const rows = (Array.isArray(values[0]) ? values[0] : ['all']).map((key) => ({ key }) as Row)
      return Promise.resolve({ rows, version: versions.shift() ?? '1.a' })
    }
    const whole: Read = { name: 'read', text: '', from: 'named vaults', ...asked }
    return { ...(await chunkedReads({ read }).read(whole, [first, 7])), pieces }
  }

  test('is of a few at a time where it may be long', async () => {
    const { pieces, rows } = await piecesOf({}, keys)
    expect(pieces).toEqual([
      [keys.slice(0, 4), 7],
      [keys.slice(4, 8), 7],
      [keys.slice(8), 7],
    ])
    expect(rows).toEqual(keys.map((key) => ({ key })))
  })

  test('is of no one version where a batch of facts came between its pieces', async () => {
    expect(await piecesOf({}, keys, ['1.a', '1.a', '1.a'])).toMatchObject({ version: '1.a' })
    expect(await piecesOf({}, keys, ['1.a', '1.a', '2.b'])).toMatchObject({ version: null })
  })

  test('is of as many as may share it where each has many rows', async () => {
    expect((await piecesOf({ sharedBy: 'key', mostShared: 8 }, keys)).pieces).toHaveLength(2)
  })

  test.each<[string, Partial<Read>, Value]>([
    ['where it is short', { sharedBy: 'key' }, keys],
    ['where it is of few', {}, keys.slice(0, 4)],
    ['where it is of all vaults', { from: 'all vaults' }, keys],
    ['where it has no keys', { from: 'universe' }, 'one'],
  ])('is whole %s', async (_, read, first) => {
    expect((await piecesOf(read, first)).pieces).toEqual([[first, 7]])
  })
})
