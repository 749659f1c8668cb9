import { describe, expect, test } from 'vitest'
import type { Database, Read, Value, Versioned } from '../../../src/database/database.ts'
import type { Cancellation } from '../../../src/database/cancellation.ts'
import { batchReads } from '../../../src/database/batching/batch-scheduler.ts'
import { withQuery } from '../../../src/database/read-path.ts'
import { heapBytes } from '../../support/heap.ts'

interface Row {
  readonly vault: string
  readonly value: string
}

/** A read in flight, which the test resolves. */
interface ReadInFlight {
  readonly values: readonly Value[]
  readonly answer: (value: string) => void
  readonly fail: (error: Error) => void
}

const keyed: Read = {
  name: 'keyed',
  text: '',
  dependsOn: 'named vaults',
  batching: { kind: 'keyed', keyProperty: 'vault' },
}
const deduplicated: Read = { name: 'deduplicated', text: '', dependsOn: 'universe', batching: { kind: 'deduplicated' } }
const chunked: Read = {
  name: 'chunked',
  text: '',
  dependsOn: 'named vaults',
  maxKeys: 4,
}
const unbatched: Read = { name: 'unbatched', text: '', dependsOn: 'all vaults' }

/** Each key has two rows; a read without keys has one. */
function reader(): { begun: ReadInFlight[]; reads: Pick<Database, 'read' | 'query'> } {
  const begun: ReadInFlight[] = []
  const read = <Each>(read: Read, values: readonly Value[]): Promise<Versioned<Each>> =>
    new Promise((resolve, reject) => {
      const [keys] = read.batching?.kind === 'deduplicated' ? [['all']] : (values as [string[]])
      const rows = (value: string): Each[] =>
        keys.flatMap((vault) => [1, 2].map((at) => ({ vault, value: `${value}${at}` }) as Each))
      begun.push({ values, answer: (value) => resolve({ rows: rows(value), version: value }), fail: reject })
    })
  return { begun, reads: withQuery(batchReads({ read })) }
}

const passed = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}
const asText = async (rows: Promise<Row[]>): Promise<string> =>
  (await rows).map(({ vault, value }) => vault + value).join(' ')

describe('batched reads', () => {
  test('send one statement for concurrent requests, and resolve each with its own rows in order', async () => {
    const { begun, reads } = reader()
    const answers = [['a'], ['b', 'c'], ['c', 'a'], []].map((keys) => asText(reads.query<Row>(keyed, [keys])))
    await passed()
    expect(begun.map(({ values }) => values)).toEqual([[['a', 'b', 'c']]])
    begun[0]?.answer('x')
    expect(await Promise.all(answers)).toEqual(['ax1 ax2', 'bx1 bx2 cx1 cx2', 'cx1 cx2 ax1 ax2', ''])
  })

  test('never join a statement in flight, so that rows are not older than their request', async () => {
    const { begun, reads } = reader()
    const before = asText(reads.query<Row>(keyed, [['a']]))
    await passed()
    const after = asText(reads.query<Row>(keyed, [['a']]))
    await passed()
    expect(begun).toHaveLength(2)
    begun[0]?.answer('old')
    begun[1]?.answer('new')
    expect([await before, await after]).toEqual(['aold1 aold2', 'anew1 anew2'])
  })

  test('collect requests while three batches are in flight', async () => {
    const { begun, reads } = reader()
    const answers: Promise<string>[] = []
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      answers.push(asText(reads.query<Row>(keyed, [[key]])))
      await passed()
    }
    expect(begun.map(({ values }) => values)).toEqual([[['a']], [['b']], [['c']]])
    begun[0]?.answer('w')
    await passed()
    expect(begun[3]?.values).toEqual([['d', 'e']])
    begun[1]?.answer('x')
    begun[2]?.answer('y')
    begun[3]?.answer('z')
    expect(await Promise.all(answers)).toEqual(['aw1 aw2', 'bx1 bx2', 'cy1 cy2', 'dz1 dz2', 'ez1 ez2'])
  })

  test('send the next batch before they process the rows of the last one', async () => {
    const { begun, reads } = reader()
    const first = reads.query<Row>(keyed, [['a']])
    for (const key of ['b', 'c', 'd']) {
      await passed()
      void reads.query(keyed, [[key]])
    }
    await passed()
    const begunBefore = first.then(() => begun.length)
    begun[0]?.answer('x')
    expect(await begunBefore).toBe(4)
  })

  test('reject all requests of a failed batch, and continue', async () => {
    const { begun, reads } = reader()
    const failed = ['a', 'b'].map((key) => expect(reads.query(keyed, [[key]])).rejects.toThrow('gone'))
    await passed()
    begun[0]?.fail(new Error('gone'))
    await Promise.all(failed)
    const next = asText(reads.query<Row>(keyed, [['a']]))
    await passed()
    begun[1]?.answer('x')
    expect(await next).toBe('ax1 ax2')
  })

  test('continue for other requests when one is cancelled', async () => {
    const { begun, reads } = reader()
    const leaving = new AbortController()
    const left = expect(reads.query(keyed, [['a']], leaving.signal)).rejects.toThrow('cancelled')
    const stays = asText(reads.query<Row>(keyed, [['b']]))
    await passed()
    leaving.abort()
    await left
    begun[0]?.answer('x')
    expect(await stays).toBe('bx1 bx2')
    await expect(reads.query(keyed, [['a']], leaving.signal)).rejects.toThrow('cancelled')
    expect(begun).toHaveLength(1)
  })

  test('have at most a hundred keys, unless a single request has more', async () => {
    const { begun, reads } = reader()
    const keys = (count: number, from = 0): string[] => Array.from({ length: count }, (_, at) => String(from + at))
    void reads.query(keyed, [keys(150)])
    void reads.query(keyed, [keys(60)])
    void reads.query(keyed, [keys(60, 60)])
    void reads.query(keyed, [keys(60, 120)])
    await passed()
    expect(begun.map(({ values }) => (values[0] as string[]).length)).toEqual([150, 60, 60])
    begun[0]?.answer('x')
    await passed()
    expect(begun[3]?.values).toEqual([keys(60, 120)])
  })

  test('are separate for different other values', async () => {
    const { begun, reads } = reader()
    void reads.query(keyed, [['a'], 1])
    void reads.query(keyed, [['a'], 2])
    void reads.query(deduplicated, ['x'])
    void reads.query(deduplicated, ['x'])
    void reads.query(deduplicated, ['y'])
    await passed()
    expect(begun.map(({ values }) => values)).toEqual([[['a'], 1], [['a'], 2], ['x'], ['y']])
  })
})

test.each([chunked, unbatched])('a $name read is a statement of its own', async (read) => {
  const { begun, reads } = reader()
  void reads.query(read, [['a']])
  void reads.query(read, [['a']])
  await passed()
  expect(begun).toHaveLength(2)
})

test('a batch is cancelled with the last of its requests, and not before', async () => {
  const signals: (Cancellation | undefined)[] = []
  const reads = batchReads({
    read: (_, __, signal) => {
      signals.push(signal)
      return new Promise(() => undefined)
    },
  })
  const [one, other] = [new AbortController(), new AbortController()]
  const results = [one, other].map(({ signal }) => reads.read(keyed, [['a']], signal).catch(() => 'given up'))
  await passed()
  one.abort()
  expect([await results[0], signals.map((signal) => signal?.aborted)]).toEqual(['given up', [false]])
  other.abort()
  expect([await results[1], signals.map((signal) => signal?.aborted)]).toEqual(['given up', [true]])
})

test('no memory is retained after a read', async () => {
  const reader = batchReads({ read: () => Promise.resolve({ rows: [], version: '' }) })
  const read = (index: number): Promise<unknown> =>
    reader.read(
      { name: 'by_filter', text: '', dependsOn: 'all vaults', batching: { kind: 'keyed', keyProperty: 'key' } },
      [['a'], Array.from({ length: 1_000 }, (_, at) => `${index} ${at} ${'x'.repeat(100)}`)],
    )
  await read(0)
  const before = heapBytes()
  for (let index = 0; index < 300; index++) await read(index)
  expect(heapBytes() - before).toBeLessThan(5_000_000)
})
