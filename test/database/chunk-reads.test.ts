import { describe, expect, test } from 'vitest'
import { chunkReads } from '../../src/database/read-path.ts'
import type { Read, ReadDependency, Value, Versioned } from '../../src/database/database.ts'

const keys = Array.from({ length: 10 }, (_, index) => `v${index}`)
type KeysOfRead = Pick<Read, 'batching' | 'maxKeys'>
const chunked: KeysOfRead = { maxKeys: 4 }
const keyed: KeysOfRead = { batching: { kind: 'keyed', keyProperty: 'key' } }

interface Sent {
  readonly chunks: unknown[]
  readonly rows: unknown[]
  readonly version: string | null
}

/** Runs a read, and returns the chunks that were sent; `versions` are those of the chunks. */
async function send(
  options: KeysOfRead,
  first: Value = keys,
  { dependsOn = 'named vaults', versions = [] }: { dependsOn?: ReadDependency; versions?: string[] } = {},
): Promise<Sent> {
  const chunks: unknown[] = []
  const read = <Row>(_: Read, values: readonly Value[]): Promise<Versioned<Row>> => {
    chunks.push(values)
    const rows = (Array.isArray(values[0]) ? values[0] : ['all']).map((key) => ({ key }) as Row)
    return Promise.resolve({ rows, version: versions.shift() ?? '1.a' })
  }
  const whole: Read = { name: 'read', text: '', dependsOn, ...options }
  return { ...(await chunkReads({ read }).read(whole, [first, 7])), chunks }
}

describe('a read of many keys', () => {
  test('is split into chunks of its size where it may be long', async () => {
    const { chunks, rows } = await send(chunked)
    expect(chunks).toEqual([
      [keys.slice(0, 4), 7],
      [keys.slice(4, 8), 7],
      [keys.slice(8), 7],
    ])
    expect(rows).toEqual(keys.map((key) => ({ key })))
  })

  test('has no version where a commit happened between its chunks', async () => {
    expect(await send(chunked, keys, { versions: ['1.a', '1.a', '1.a'] })).toMatchObject({ version: '1.a' })
    expect(await send(chunked, keys, { versions: ['1.a', '1.a', '2.b'] })).toMatchObject({ version: null })
  })

  test('is split into batches of its size where it is keyed', async () => {
    expect((await send({ ...keyed, maxKeys: 8 })).chunks).toHaveLength(2)
  })

  test.each<ReadDependency>(['all vaults', 'catalogue'])(
    'is split where its keys are lists of %s',
    async (dependsOn) => {
      expect((await send({ ...keyed, maxKeys: 8 }, keys, { dependsOn })).chunks).toHaveLength(2)
    },
  )

  test('is split into batches of the default size where it is keyed without one', async () => {
    const many = Array.from({ length: 201 }, (_, index) => `v${index}`)
    expect((await send(keyed, many)).chunks).toEqual([
      [many.slice(0, 100), 7],
      [many.slice(100, 200), 7],
      [many.slice(200), 7],
    ])
  })

  test.each<[string, KeysOfRead, Value, ReadDependency]>([
    ['it has few keys', chunked, keys.slice(0, 4), 'named vaults'],
    ['its first value is no list of keys', {}, keys, 'all vaults'],
    ['it has no keys', {}, 'one', 'universe'],
  ])('is sent whole where %s', async (_, options, first, dependsOn) => {
    expect((await send(options, first, { dependsOn })).chunks).toEqual([[first, 7]])
  })
})
